//! Starts a card payments server for tests, with an account for each.
//!
//! The program `card-payments` is to be on the PATH. Nothing here is asynchronous, and a call that fails unexpectedly panics, as a
//! test does; what the server refuses is an [`ApiError`].

mod http;
mod inbox;

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

pub use inbox::Inbox;

/// How to start a server.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A file of fixtures for the first account.
    pub fixtures: Option<PathBuf>,
    /// Whether to use the built-in fixtures.
    pub sample: bool,
    /// A file for the server's log.
    pub log: Option<PathBuf>,
}

/// A running server, and its first account. One that was started ends when it is dropped, and its data is deleted.
#[derive(Debug)]
pub struct Server {
    /// Its address.
    pub url: String,
    /// The secret key of its first account.
    pub secret_key: String,
    child: Option<Child>,
}

impl Server {
    /// Starts a server on a free port.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&Options::default())
    }

    /// Starts a server with options.
    #[must_use]
    pub fn start_with(options: &Options) -> Self {
        let mut command = Command::new("card-payments");
        command.args(["exec", "--json"]).args(options.sample.then_some("--sample"));
        for (name, file) in [("--fixtures", &options.fixtures), ("--log", &options.log)] {
            if let Some(file) = file {
                command.arg(name).arg(file);
            }
        }
        // The server ends with its input. In a group of its own it gets no Ctrl-C before the tests have ended.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().expect("card-payments is on the PATH");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("the first line of card-payments");
        let Ok(started) = serde_json::from_str::<Value>(&line) else {
            panic!("card-payments did not start: {}", child.wait().expect("its exit code"));
        };
        Self {
            url: text(&started, "listening"),
            secret_key: text(&started, "secret_key"),
            child: Some(child),
        }
    }

    /// Returns the server at an address. The key is that of one of its accounts.
    #[must_use]
    pub fn connect(url: &str, secret_key: &str) -> Self {
        Self { url: url.trim_end_matches('/').into(), secret_key: secret_key.into(), child: None }
    }

    /// Creates an account with keys, a clock and an opening balance of its own. It is deleted when it is dropped.
    #[must_use]
    pub fn create_account(&self) -> Account<'_> {
        let made = self.request("POST", "/1/sandbox/accounts", &json!({})).expect("an account");
        Account {
            server: self,
            token: text(&made, "token"),
            secret_key: text(&made, "secret_key"),
            publishable_key: text(&made, "publishable_key"),
        }
    }

    /// Sends a request with JSON, null for no body, and returns the record of the response.
    pub fn request(&self, method: &str, path: &str, body: &Value) -> Result<Value, ApiError> {
        http::request(&self.url, &self.secret_key, method, path, body)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            // It ends in any case, when this process does.
            let _ = child.wait();
        }
    }
}

/// An account that nothing else uses.
#[derive(Debug)]
pub struct Account<'a> {
    server: &'a Server,
    /// Its token.
    pub token: String,
    /// Its secret key.
    pub secret_key: String,
    /// Its publishable key.
    pub publishable_key: String,
}

impl Account<'_> {
    /// Returns the server's address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.server.url
    }

    /// Sends a request with JSON, null for no body, and returns the record of the response.
    pub fn request(&self, method: &str, path: &str, body: &Value) -> Result<Value, ApiError> {
        http::request(&self.server.url, &self.secret_key, method, path, body)
    }

    /// Moves the account's clock ahead, `{"advance": "7d"}` or `{"to": "2030-01-01"}`, and returns all that was due on the way.
    pub fn move_clock(&self, by: &Value) -> Result<Vec<Value>, ApiError> {
        let (mut ran, mut by) = (Vec::new(), by.clone());
        loop {
            let moved = self.request("PUT", "/1/sandbox/clock", &by)?;
            ran.extend(moved["ran"].as_array().into_iter().flatten().cloned());
            if moved["complete"] == true {
                return Ok(ran);
            }
            by = json!({ "to": moved["to"] });
        }
    }

    /// Orders faults of the acquirer: decline, `latency_ms`, `gateway_error_rate`, `drop_rate`, seed.
    pub fn set_faults(&self, faults: &Value) -> Result<Value, ApiError> {
        self.request("PUT", "/1/sandbox/acquirer", faults)
    }

    /// Registers a receiver of webhooks inside the server. It is deleted with the account.
    #[must_use]
    pub fn open_inbox(&self) -> Inbox<'_> {
        Inbox::open(self)
    }
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        // A test that has failed may have lost its server, and a panic while it unwinds would end all other tests.
        let call = format!("DELETE /1/sandbox/accounts/{}", self.token);
        let _ = http::exchange(&self.server.url, &self.server.secret_key, &call, &Value::Null);
    }
}

/// The server refused a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// Method and path.
    pub call: String,
    /// The status of the response.
    pub status: u16,
    /// The JSON of the response.
    pub body: Value,
}

impl ApiError {
    /// Returns the error code.
    #[must_use]
    pub fn code(&self) -> &str {
        self.error()["error"].as_str().unwrap_or_default()
    }

    fn error(&self) -> &Value {
        self.body.get(0).unwrap_or(&self.body)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = self.error()["error_description"].as_str().unwrap_or_default();
        write!(f, "{}: {} {}: {said}", self.call, self.status, self.code())
    }
}

impl std::error::Error for ApiError {}

fn text(record: &Value, field: &str) -> String {
    record[field].as_str().unwrap_or_else(|| panic!("{field} is missing: {record}")).to_owned()
}
