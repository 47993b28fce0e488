//! The real program, started as a user starts it, and a caller that speaks plain HTTP over a socket.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use base::clock::{Clock, SystemClock, TESTS_AS_OF};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use entity::Timestamp;
use serde_json::Value;
use web::limits::REQUEST_TIMEOUT;

/// Returns the program with a data directory, on any free port, without this machine's environment.
pub fn program(data_dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_card-payments"));
    command
        .env_clear()
        .env("CARD_PAYMENTS_DATA_DIR", data_dir)
        .env("CARD_PAYMENTS_LISTEN", "127.0.0.1:0")
        .envs(as_of_tests())
        .stdin(Stdio::null());
    command
}

/// Returns the program in a shell that has changed something for it.
pub fn in_shell(command: &Command, change: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(format!("{change}; exec \"$0\" \"$@\""));
    shell.arg(command.get_program()).args(command.get_args());
    shell.env_clear().stdin(Stdio::null());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

/// Returns the variable that has a program go on from the instant at which these tests began, if that is not the machine's.
pub fn as_of_tests() -> Option<(&'static str, String)> {
    let name = TESTS_AS_OF.filter(|name| std::env::var_os(name).is_some())?;
    Some((name, SystemClock::ahead().millis().to_string()))
}

/// Returns the time of programs that are not ours, whatever time tests run as of.
pub fn machine_time() -> Timestamp {
    SystemClock.now() - SystemClock::ahead()
}

/// Returns an address on which nobody listens. Its port is none of those that the system hands out: no other test, and no connection of
/// one, takes it before it is used.
pub fn free_address() -> SocketAddr {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    loop {
        // Test programs that run at once begin elsewhere.
        let n = std::process::id().wrapping_mul(97).wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
        let port = 10_000 + u16::try_from(n % 20_000).unwrap();
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            return listener.local_addr().unwrap();
        }
    }
}

/// How long a program may take that is to end by itself: one that serves instead fails its test, which would wait for ever.
const ENDS_WITHIN: Duration = Duration::from_mins(5);

/// Runs a program whose reader has gone before it prints anything. Returns exit code, stderr.
pub fn unread(command: &mut Command) -> (Option<i32>, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// Runs a program to its end. Returns exit code, stdout, stderr.
pub fn output(command: &mut Command) -> (Option<i32>, String, String) {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (pid, (ended, end)) = (child.id().to_string(), mpsc::channel::<()>());
    let killer = std::thread::spawn(move || {
        if end.recv_timeout(ENDS_WITHIN) == Err(RecvTimeoutError::Timeout) {
            Command::new("kill").args(["-KILL", &pid]).status().unwrap();
        }
    });
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    drop(ended);
    killer.join().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Copies a program that is then run. Another process does it: what this one has open for writing, a child that another
/// test is starting inherits for a moment, and the system runs no program that is open for writing.
pub fn install(program: &Path, to: &Path) {
    let copied = output(Command::new("install").args(["-m", "755"]).arg(program).arg(to));
    assert_eq!(copied.0, Some(0), "{}", copied.2);
}

/// A server that runs until it is stopped.
pub struct Process {
    child: Child,
    /// The lines that it printed before it listened.
    pub banner: Vec<String>,
    pub address: SocketAddr,
    stderr: Option<JoinHandle<String>>,
}

impl Process {
    /// Starts it, and waits until it listens.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let (mut banner, mut address) = (Vec::new(), None);
        for line in stdout.by_ref().lines().map(Result::unwrap) {
            if let Some(listening) = line.strip_prefix("Listening on http://") {
                address = Some(listening.parse().unwrap());
                break;
            }
            banner.push(line);
        }
        let Some(address) = address else {
            child.wait().unwrap();
            panic!("it does not listen: {banner:?}, {}", stderr.join().unwrap());
        };
        // A program that goes on printing must find a reader, or it waits for one.
        std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        Self { child, banner, address, stderr: Some(stderr) }
    }

    /// Returns the keys that it printed: secret, publishable.
    pub fn keys(&self) -> (String, String) {
        let line = self.banner.iter().find_map(|line| line.trim().strip_prefix("Keys ")).unwrap();
        let mut keys = line.split(',').map(|key| key.split_whitespace().next().unwrap().to_owned());
        (keys.next().unwrap(), keys.next().unwrap())
    }

    /// Returns its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it SIGTERM.
    pub fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }

    /// Waits for its end. Returns exit code and stderr.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        (code, self.stderr.take().unwrap().join().unwrap())
    }

    /// Kills it with SIGKILL. Returns stderr.
    pub fn killed(mut self) -> String {
        self.child.kill().unwrap();
        self.ended().1
    }

    /// Stops it, and checks that it ends well. Returns stderr.
    pub fn stopped(self) -> String {
        self.terminate();
        let (code, stderr) = self.ended();
        assert_eq!(code, Some(0), "{stderr}");
        stderr
    }

    /// Sends a request on a connection of its own.
    pub fn ask(&self, method: &str, path: &str, key: Option<&str>, form: &str) -> RawResponse {
        ask(self.address, method, path, key, form)
    }

    /// Charges the card that is always accepted.
    pub fn pay(&self, key: &str) -> RawResponse {
        self.ask("POST", "/1/charges", Some(key), PAYMENT)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A test that failed leaves no server behind; one that ended is long gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking()
            && let Some(Ok(stderr)) = self.stderr.take().map(JoinHandle::join)
        {
            eprintln!("the server said: {stderr}");
        }
    }
}

/// The parameters of the first payment, as curl sends them.
pub const PAYMENT: &str = "email=roland@example.com&description=Test&amount=400&ip_address=203.192.1.172\
    &card[number]=4200000000000000&card[expiry_month]=5&card[expiry_year]=2030&card[cvc]=123\
    &card[name]=Roland+Robot&card[address_line1]=42+Sevenoaks+St&card[address_city]=Lathlain&card[address_country]=AU";

/// An answer.
#[derive(Debug)]
pub struct RawResponse {
    pub status: u16,
    /// By names in small letters.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl RawResponse {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    #[track_caller]
    pub fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.json()["response"].clone()
    }
}

/// Returns the text of a request that closes its connection.
pub fn request(method: &str, path: &str, key: Option<&str>, form: &str) -> String {
    repeatable_request(method, path, key, None, form)
}

/// The same, with an Idempotency-Key.
pub fn repeatable_request(
    method: &str,
    path: &str,
    key: Option<&str>,
    idempotency_key: Option<&str>,
    form: &str,
) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n");
    if let Some(key) = idempotency_key {
        write!(text, "Idempotency-Key: {key}\r\n").unwrap();
    }
    if let Some(key) = key {
        let credentials = STANDARD.encode(format!("{key}:"));
        write!(text, "Authorization: Basic {credentials}\r\n").unwrap();
    }
    if !form.is_empty() {
        let kind = "application/x-www-form-urlencoded";
        write!(text, "Content-Type: {kind}\r\nContent-Length: {}\r\n", form.len()).unwrap();
    }
    text + "\r\n" + form
}

/// How long a server may be silent: it ends each request in its own time, and the rest is for a busy machine.
const SILENT_WITHIN: Duration = REQUEST_TIMEOUT.saturating_add(Duration::from_secs(30));

/// Sends a request to a server that may die meanwhile: a partial answer is an error.
pub fn try_to_ask(address: SocketAddr, request: &str) -> std::io::Result<RawResponse> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(SILENT_WITHIN))?;
    stream.write_all(request.as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let response = parsed(&text).ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let length = response.headers.get("content-length").map(|length| length.parse().unwrap());
    let has_body = !request.starts_with("HEAD ");
    if has_body && length.is_some_and(|length: usize| length != response.body.len()) {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(response)
}

/// Sends one request on one connection.
pub fn ask(address: SocketAddr, method: &str, path: &str, key: Option<&str>, form: &str) -> RawResponse {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request(method, path, key, form).as_bytes()).unwrap();
    read_response(stream)
}

/// Reads the answer on a connection.
pub fn read_response(mut stream: TcpStream) -> RawResponse {
    stream.set_read_timeout(Some(SILENT_WITHIN)).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    parsed(&text).unwrap_or_else(|| panic!("no answer: {text}"))
}

/// Reads the first answer on a connection that may be kept.
pub fn read_first_response(stream: &mut TcpStream) -> RawResponse {
    let (mut text, mut byte) = (Vec::new(), [0]);
    loop {
        if let Err(error) = stream.read_exact(&mut byte) {
            panic!("{error} after {}", String::from_utf8_lossy(&text));
        }
        text.push(byte[0]);
        if let Some(response) = parsed(&String::from_utf8_lossy(&text))
            && response.headers["content-length"] == response.body.len().to_string()
        {
            return response;
        }
    }
}

/// Returns an answer whose head is whole.
pub fn parsed(text: &str) -> Option<RawResponse> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.map(|line| line.split_once(": ")).collect::<Option<Vec<_>>>()?;
    let headers = headers.into_iter().map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Some(RawResponse { status, headers, body: body.to_owned() })
}

/// Sleeps, on a thread of the test's own, for a program that has the machine's clock.
#[expect(clippy::disallowed_methods, reason = "programs that are killed have no clock of ours")]
pub fn pause(span: Duration) {
    std::thread::sleep(span);
}

/// Does something, and returns how many KiB of its own a process had in memory at most meanwhile, as a thread has seen it every few
/// milliseconds: the kernel keeps a highest value only of all memory, with pages of the program's file that it takes away at will.
pub fn peak_memory<T>(pid: u32, during: impl FnOnce() -> T) -> (T, Option<u64>) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let peak = scope.spawn(|| {
            let mut peak = None;
            while !is_over.load(Ordering::Relaxed) {
                peak = peak.max(own_memory(pid));
                pause(Duration::from_millis(5));
            }
            peak
        });
        let done = during();
        is_over.store(true, Ordering::Relaxed);
        (done, peak.join().unwrap())
    })
}

fn own_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find(|line| line.starts_with("RssAnon:"))?.split_whitespace().nth(1)?.parse().ok()
}
