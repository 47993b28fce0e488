//! `card-payments exec`.

use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use base::platform::{self, Signal, on_signals};
use card_payments::config::{FixtureOptions, without_empty_variables};
use card_payments::recorder::Recorder;
use clap::{Args, FromArgMatches};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tools::terminal;
use tools::terminal::print_result;

use super::serve::{self, Serve};

/// Run a command beside a test server that lives as long as the command.
///
/// Starts a server on a free port with a temporary data directory, waits until it is ready, and runs the command with
/// CARD_PAYMENTS_URL, CARD_PAYMENTS_SECRET_KEY and CARD_PAYMENTS_PUBLISHABLE_KEY. Other commands of this program, run by the command,
/// find the same server and its database. At the end nothing is left.
///
/// Passes SIGINT, SIGTERM, SIGHUP and SIGQUIT to the command, and returns its exit code: 128 and the signal's number if a signal
/// ended it, 127 if there is no such command, 126 if it cannot be run. Without a command, prints what `serve` prints and serves until
/// its input ends.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  card-payments exec -- pytest\n  card-payments exec --sample -- npm test\n\n\
    With --json and without a command {listening, secret_key, publishable_key} and more."
)]
pub struct Exec {
    #[command(flatten)]
    fixtures: FixtureOptions,
    /// Keep the data directory, and print where it is.
    #[arg(long)]
    keep: bool,
    /// A file for the server's log. Without it there is no log.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// One JSON object in place of the text.
    #[arg(long, conflicts_with = "command")]
    json: bool,
    /// The command and its arguments.
    #[arg(last = true)]
    command: Vec<OsString>,
}

/// How long the server may take to stop. Nobody waits for its responses any more.
const STOP: Duration = Duration::from_secs(5);

/// How long it may take if it keeps its account: payments in flight end first.
const EXPORT: Duration = Duration::from_mins(2);

/// Variables that a server which the command starts must not take over: it would use the same database, or write the same file.
const OF_THIS_SERVER: [&str; 3] =
    ["CARD_PAYMENTS_DATABASE_URL", "CARD_PAYMENTS_IMPORT", "CARD_PAYMENTS_EXPORT_ON_EXIT"];

/// Runs the command.
pub async fn run(exec: Exec) -> Result<ExitCode, Box<dyn Error>> {
    Box::pin(serve_for(exec, None)).await
}

/// Serves for a command, and records its requests.
pub async fn serve_for(exec: Exec, recorder: Option<Arc<Recorder>>) -> Result<ExitCode, Box<dyn Error>> {
    let mut signals = on_signals([Signal::Interrupt, Signal::Terminate, Signal::HangUp, Signal::Quit])?;
    let mut named = tempfile::Builder::new();
    platform::set_mode(&mut named, 0o700);
    let mut folder = named.prefix("card-payments-").tempdir()?;
    let exports = exec.fixtures.export_on_exit.is_some();
    let server = server(folder.path(), exec.fixtures)?;
    if let Some(path) = &exec.log {
        let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
        serve::log(&server.options.log, file, false)?;
    }
    let (stop, stopped) = mpsc::channel(1);
    let (ready, is_ready) = oneshot::channel();
    let command = exec.command.split_first();
    let mut serving = pin!(serve::serve(server, recorder, stopped, |banner| {
        if command.is_none() {
            drop(print_result(banner, banner, exec.json));
        }
        let key = |key: Option<&str>| key.unwrap_or_default().to_owned();
        drop(ready.send([banner.listening.clone(), key(banner.secret_key), key(banner.publishable_key)]));
    }));
    let running = async {
        let [url, secret_key, publishable_key] = tokio::select! {
            server = is_ready => server?,
            Some(signal) = signals.recv() => return Ok(code(128 + signal.number())),
        };
        let Some((program, arguments)) = command else { return Ok(until_input_ends(signals).await) };
        let variables = [
            ("CARD_PAYMENTS_URL", &url),
            ("CARD_PAYMENTS_SECRET_KEY", &secret_key),
            ("CARD_PAYMENTS_PUBLISHABLE_KEY", &publishable_key),
            ("CARD_PAYMENTS_SERVER", &url),
            ("CARD_PAYMENTS_KEY", &secret_key),
        ];
        let mut command = Command::new(program);
        command.args(arguments).envs(variables).env("CARD_PAYMENTS_DATA_DIR", folder.path());
        for own in OF_THIS_SERVER {
            command.env_remove(own);
        }
        match command.kill_on_drop(true).spawn() {
            Ok(child) => until_end(child, signals).await,
            Err(error) => {
                let (exit_code, what) = if error.kind() == ErrorKind::NotFound {
                    (127, "there is no such command".to_owned())
                } else {
                    (126, error.to_string())
                };
                terminal::print_notice(format_args!("error: {}: {what}", program.display()));
                Ok(code(exit_code))
            }
        }
    };
    let ended = tokio::select! {
        biased;
        done = &mut serving => return done.and(Err("the server has stopped".into())),
        ended = running => ended,
    };
    drop(stop);
    let stopped = timeout(if exports { EXPORT } else { STOP }, serving).await;
    let lost = match stopped {
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) if exports => Some("the server does not stop, and its account is not exported".to_owned()),
        Ok(Ok(())) | Err(_) => None,
    };
    if exec.keep {
        folder.disable_cleanup(true);
        terminal::print_notice(format_args!("The data directory is {}", folder.path().display()));
    } else {
        folder.close()?;
    }
    match (lost, ended) {
        (Some(lost), Ok(ExitCode::SUCCESS)) => Err(lost.into()),
        (Some(lost), ended) => {
            // The command's own failure says more.
            terminal::print_notice(format_args!("error: {lost}"));
            ended
        }
        (None, ended) => ended,
    }
}

/// Returns the command that serves from this folder, with all other options from the environment.
fn server(folder: &Path, fixtures: FixtureOptions) -> Result<Serve, Box<dyn Error>> {
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--environment", "test", "--data-dir"];
    let arguments = arguments.map(OsString::from).into_iter().chain([folder.into()]);
    let options = without_empty_variables(Serve::augment_args(clap::Command::new("serve")));
    let matches = options.try_get_matches_from(arguments)?;
    let mut serve = Serve::from_arg_matches(&matches)?;
    (serve.options.admin_listen, serve.options.blobs) = (None, None);
    // The address of another server, unless all that clients see is to be the same in each run.
    serve.options.base_url = serve.options.base_url.filter(|_| serve.database.seed.is_some());
    (serve.database.database_url, serve.fixtures) = (None, fixtures);
    Ok(serve)
}

/// Passes signals to the command until it ends, and returns its exit code.
async fn until_end(
    mut child: Child,
    mut signals: mpsc::Receiver<Signal>,
) -> Result<ExitCode, Box<dyn Error>> {
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

/// Waits for the end of the input, or a signal.
async fn until_input_ends(mut signals: mpsc::Receiver<Signal>) -> ExitCode {
    let (open, ended) = oneshot::channel::<()>();
    // A thread of its own does not keep the process from ending.
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        drop(open);
    });
    tokio::select! {
        _ = ended => ExitCode::SUCCESS,
        Some(signal) = signals.recv() => code(128 + signal.number()),
    }
}

fn code(number: i32) -> ExitCode {
    u8::try_from(number).map_or(ExitCode::FAILURE, ExitCode::from)
}
