//! A server that lives as long as a command which runs beside it, and that command. The program serves; here is what the command has
//! of it.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

use base::platform::{self, Signal};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::api_client::{ApiClient, ApiClientError};
use crate::terminal;

/// Variables that a server which the command starts must not take over: it would use the same database, or write the same file.
const OF_THIS_SERVER: [&str; 6] = [
    "CARD_PAYMENTS_ADMIN_LISTEN",
    "CARD_PAYMENTS_AUDIT_ANCHOR",
    "CARD_PAYMENTS_BLOBS",
    "CARD_PAYMENTS_DATABASE_URL",
    "CARD_PAYMENTS_EXPORT_ON_EXIT",
    "CARD_PAYMENTS_IMPORT",
];

/// The signals that a command gets.
pub type Signals = mpsc::Receiver<Signal>;

/// A server that lives as long as a command.
pub struct OwnServer {
    pub url: String,
    /// The secret key of its first account.
    pub secret_key: String,
    /// The publishable key of its first account.
    pub publishable_key: String,
    /// Its data directory.
    pub folder: PathBuf,
}

impl OwnServer {
    /// Returns a client with the key of its first account.
    pub async fn client(&self) -> Result<ApiClient, ApiClientError> {
        ApiClient::at(&self.url, Some(self.secret_key.as_str().into())).await
    }

    /// Returns a command that finds the server by its variables.
    pub fn command(&self, words: &[OsString]) -> Command {
        let (program, arguments) = match words {
            [program, arguments @ ..] => (program.as_os_str(), arguments),
            [] => (OsStr::new(""), words),
        };
        let variables = [
            ("CARD_PAYMENTS_URL", &self.url),
            ("CARD_PAYMENTS_SECRET_KEY", &self.secret_key),
            ("CARD_PAYMENTS_PUBLISHABLE_KEY", &self.publishable_key),
            ("CARD_PAYMENTS_SERVER", &self.url),
            ("CARD_PAYMENTS_KEY", &self.secret_key),
        ];
        let mut command = Command::new(platform::program(program));
        command.args(arguments).envs(variables).env("CARD_PAYMENTS_DATA_DIR", &self.folder);
        // It is a test server, whatever the variable says here.
        command.env("CARD_PAYMENTS_ENVIRONMENT", "test");
        for own in OF_THIS_SERVER {
            command.env_remove(own);
        }
        command.kill_on_drop(true);
        command
    }
}

/// Starts a command, or returns the exit code of one that cannot be started.
pub fn spawn(command: &mut Command) -> Result<Child, ExitCode> {
    command.spawn().map_err(|error| {
        let (exit_code, what) = if error.kind() == ErrorKind::NotFound {
            (127, "there is no such command".to_owned())
        } else {
            (126, error.to_string())
        };
        let program = command.as_std().get_program().display();
        terminal::print_notice(format_args!("error: {program}: {what}"));
        code(exit_code)
    })
}

/// Passes signals to the command until it ends, and returns its exit code.
pub async fn until_end(mut child: Child, mut signals: Signals) -> Result<ExitCode, Box<dyn Error>> {
    loop {
        let signal = tokio::select! {
            status = child.wait() => {
                return Ok(code(platform::exit_code(status?)));
            }
            Some(signal) = signals.recv() => signal,
        };
        // A terminal has sent its Ctrl-C or Ctrl-\ to the command as well.
        let is_of_terminal =
            [Signal::Interrupt, Signal::Quit].contains(&signal) && platform::is_in_foreground();
        if let Some(process) = child.id().filter(|_| !is_of_terminal) {
            platform::send_signal(process, signal);
        }
    }
}

/// Returns the exit code of a command that a signal has ended.
pub fn code_of(signal: Signal) -> ExitCode {
    code(128 + signal.number())
}

fn code(number: i32) -> ExitCode {
    u8::try_from(number).map_or(ExitCode::FAILURE, ExitCode::from)
}
