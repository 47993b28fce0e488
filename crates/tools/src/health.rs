//! `card-payments health`.

use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use base::http_address::{parse_listen_address, reachable};
use clap::Args;
use serde_json::json;

use crate::terminal::print_result;

/// Ask the server on this machine whether it is healthy. Needs no database.
///
/// For health checks in a container that has no other program: the exit code is 0 or 1. With --ready it also fails while the
/// server should get no requests: its database is unreachable or cannot write, or it is about to stop.
#[derive(Args)]
#[command(after_help = "Example:\n  card-payments health --listen 127.0.0.1:8080\n\n\
    Prints ok; with --json {address, status}.")]
pub struct Health {
    /// The address on which the server listens.
    #[arg(long, env = "CARD_PAYMENTS_LISTEN", default_value = "127.0.0.1:8080", value_parser = parse_listen_address)]
    listen: SocketAddr,
    /// The server's second listener. Used instead of --listen, because it answers however busy the server is.
    #[arg(long, env = "CARD_PAYMENTS_ADMIN_LISTEN", value_parser = parse_listen_address)]
    admin_listen: Option<SocketAddr>,
    /// Request /readyz instead of /healthz.
    #[arg(long)]
    ready: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The time limit of connecting and of the answer; a health check waits only a few seconds.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The longest first line of a response.
const LINE_BYTES: usize = 1024;

pub fn run(command: &Health) -> Result<(), Box<dyn Error>> {
    let address = reachable(command.admin_listen.unwrap_or(command.listen));
    let path = if command.ready { "/readyz" } else { "/healthz" };
    let answer = fetch(address, path).map_err(|error| format!("http://{address}{path}: {error}"))?;
    let status = answer.split_whitespace().nth(1).unwrap_or("nothing");
    if status != "200" {
        return Err(format!("http://{address}{path} answered {status}").into());
    }
    print_result(&json!({ "address": format!("http://{address}{path}"), "status": 200 }), &"ok", command.json)
}

/// Returns the first line of the response.
fn fetch(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let deadline = Instant::now() + TIMEOUT;
    let (mut line, mut letter) = (Vec::new(), [0]);
    while line.len() < LINE_BYTES {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut letter) {
            Ok(0) => break,
            Ok(_) if letter == *b"\n" => break,
            Ok(_) => line.extend(letter),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // How some systems tell of a read that has taken too long.
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}
