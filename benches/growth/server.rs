//! The server as a process of its own, asked over one connection.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base::platform::processor_time;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::Fallible;
use crate::fill::Place;

const KEY: &str = "sk_test_growth";
const FORM: &str = "email=buyer%23n%23%40example.com&amount=400&ip_address=203.192.1.172&card[number]=4200000000000000\
                    &card[expiry_month]=5&card[expiry_year]=2035&card[cvc]=123&card[name]=Roland+Robot\
                    &card[address_line1]=42+Sevenoaks+St&card[address_city]=Lathlain&card[address_country]=Australia";

/// A server; killed when it is dropped.
pub struct Server {
    child: Child,
    address: String,
    connection: Connection,
}

/// A kept connection to a server.
pub struct Connection(RefCell<BufReader<TcpStream>>);

/// The program on the database of a place.
fn program(binary: &Path, place: &Place) -> Command {
    let mut program = Command::new(binary);
    program.env("CARD_PAYMENTS_DATA_DIR", place.folder()).env("CARD_PAYMENTS_LOG", "warn");
    program.env("CARD_PAYMENTS_SECRET_KEY", KEY);
    if let Some(url) = place.url() {
        program.env("CARD_PAYMENTS_DATABASE_URL", url);
    }
    program
}

/// Runs a command that operators run.
pub fn command(binary: &Path, place: &Place, words: &[&str]) -> Fallible<()> {
    let done = program(binary, place).args(words).output()?;
    if done.status.success() {
        return Ok(());
    }
    let [out, err] = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    Err(format!("{words:?}: {out}{err}").into())
}

impl Server {
    /// Starts it and waits until it listens.
    pub fn start(binary: &Path, place: &Place) -> Fallible<Self> {
        let mut child =
            program(binary, place).args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn()?;
        let out = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut address = None;
        for line in out.lines() {
            if let Some((_, rest)) = line?.split_once("Listening on http://") {
                address = rest.split([' ', '/']).next().map(str::to_owned);
                break;
            }
        }
        let address = address.ok_or("the server does not listen")?;
        Ok(Self { child, connection: Connection::to(&address)?, address })
    }

    /// Connects once more.
    pub fn connect(&self) -> Fallible<Connection> {
        Connection::to(&self.address)
    }

    /// CPU that its process has used so far.
    pub fn cpu(&self) -> Fallible<Duration> {
        Ok(processor_time::of_process(self.child.id()).ok_or("the system tells no processor time")?)
    }

    /// Sends a GET. Returns the answer.
    pub fn get(&self, path: &str) -> Fallible<Value> {
        Ok(serde_json::from_slice(&self.connection.send("GET", path, "")?)?)
    }

    /// Makes a charge.
    pub fn charge(&self, description: &str) -> Fallible<()> {
        let description: String = url::form_urlencoded::byte_serialize(description.as_bytes()).collect();
        let form = format!("description={description}&{FORM}");
        self.connection.send("POST", "/1/charges", &form).map(drop)
    }

    /// The token of the newest charge.
    pub fn newest_charge(&self) -> Fallible<String> {
        let newest = self.get("/1/charges?per_page=1")?;
        Ok(newest["response"][0]["token"].as_str().ok_or("there is no charge")?.to_owned())
    }

    /// Moves the account's clock, until it stands there.
    pub fn a_day_passes(&self) -> Fallible<()> {
        let moved = |form| -> Fallible<Value> {
            Ok(serde_json::from_slice(&self.connection.send("PUT", "/1/sandbox/clock", form)?)?)
        };
        let mut answer = moved("advance=1d")?;
        while answer["response"]["complete"] == false {
            answer = moved("advance=0d")?;
        }
        Ok(())
    }
}

impl Connection {
    fn to(address: &str) -> Fallible<Self> {
        let connection = TcpStream::connect(address)?;
        connection.set_nodelay(true)?;
        Ok(Self(RefCell::new(BufReader::new(connection))))
    }

    /// Sends a request. Returns the body of its answer.
    pub fn send(&self, method: &str, path: &str, form: &str) -> Fallible<Vec<u8>> {
        let mut connection = self.0.borrow_mut();
        let credentials = STANDARD.encode(format!("{KEY}:"));
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: growth\r\nAuthorization: Basic {credentials}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
            form.len()
        );
        connection.get_mut().write_all(request.as_bytes())?;
        let (mut status, mut length) = (String::new(), 0);
        connection.read_line(&mut status)?;
        loop {
            let mut line = String::new();
            connection.read_line(&mut line)?;
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        connection.read_exact(&mut body)?;
        if !status.starts_with("HTTP/1.1 2") {
            return Err(format!("{method} {path}: {status}{}", String::from_utf8_lossy(&body)).into());
        }
        Ok(body)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It survives a kill at any time.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
