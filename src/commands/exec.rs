//! `card-payments exec`.

use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use base::platform::{self, Signal, on_signals};
use card_payments::config::{FixtureOptions, without_empty_variables, wrong_variable};
use card_payments::recorder::Recorder;
use clap::{Args, FromArgMatches};
use tempfile::TempDir;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tools::own_server::{OwnServer, Signals, code_of, spawn, until_end};
use tools::terminal::{self, print_result};

use super::banner::Banner;
use super::serve::{self, Serve};

/// Run a command beside a test server of its own.
///
/// Starts a test server on a free port with a temporary data directory, waits until it is ready, and runs the command with
/// CARD_PAYMENTS_URL, CARD_PAYMENTS_SECRET_KEY and CARD_PAYMENTS_PUBLISHABLE_KEY. Other commands of this program, run by the command,
/// find the same server and its database. The server lives as long as the command, and at the end nothing is left.
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

/// The data directory of a server that lives as long as a command, for the caller to remove once the runtime has ended: until then
/// the server's tasks have files open in it, which Windows does not remove, and may write others.
pub type DataFolder = Option<TempDir>;

pub async fn run(exec: Exec, folder: &mut DataFolder) -> Result<ExitCode, Box<dyn Error>> {
    Box::pin(serve_for(exec, None, folder)).await
}

/// Serves for a command, and records its requests.
pub async fn serve_for(
    exec: Exec,
    recorder: Option<Arc<Recorder>>,
    folder: &mut DataFolder,
) -> Result<ExitCode, Box<dyn Error>> {
    let Exec { fixtures, keep, log, json, command } = exec;
    let shown = command.is_empty();
    let show = move |banner: &Banner<'_>| {
        if shown {
            drop(print_result(banner, banner, json));
        }
    };
    let run = |server: OwnServer, signals: Signals| async move {
        if command.is_empty() {
            return Ok(until_input_ends(signals).await);
        }
        match spawn(&mut server.command(&command)) {
            Ok(child) => until_end(child, signals).await,
            Err(exit_code) => Ok(exit_code),
        }
    };
    Box::pin(serve_while(ServerSetup { fixtures, keep, log, seed: None }, recorder, folder, show, run)).await
}

/// How a server begins that lives as long as a command.
#[derive(Default)]
pub struct ServerSetup {
    /// What it begins with.
    pub fixtures: FixtureOptions,
    /// Whether its data directory is kept.
    pub keep: bool,
    pub log: Option<PathBuf>,
    /// Its seed, if it is not that of the environment.
    pub seed: Option<String>,
}

/// Serves while something runs beside the server, and returns its exit code. `show` gets what `serve` prints.
pub async fn serve_while<W>(
    setup: ServerSetup,
    recorder: Option<Arc<Recorder>>,
    folder: &mut DataFolder,
    show: impl FnOnce(&Banner<'_>),
    run: impl FnOnce(OwnServer, Signals) -> W,
) -> Result<ExitCode, Box<dyn Error>>
where
    W: Future<Output = Result<ExitCode, Box<dyn Error>>>,
{
    let mut signals = on_signals(&[Signal::Interrupt, Signal::Terminate, Signal::HangUp, Signal::Quit])?;
    let mut named = tempfile::Builder::new();
    platform::set_mode(&mut named, 0o700);
    let path = folder.insert(named.prefix("card-payments-").tempdir()?).path().to_owned();
    let exports = setup.fixtures.export_on_exit.is_some();
    let mut server = server(&path, setup.fixtures)?;
    server.database.seed = setup.seed.or(server.database.seed);
    if let Some(path) = &setup.log {
        let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
        serve::log(&server.options.log, file, false)?;
    }
    let (stop, stopped) = mpsc::channel(1);
    let (ready, is_ready) = oneshot::channel();
    let mut serving = pin!(serve::serve(server, recorder, stopped, |banner| {
        show(banner);
        let key = |key: Option<&str>| key.unwrap_or_default().to_owned();
        drop(ready.send(OwnServer {
            url: banner.listening.clone(),
            secret_key: key(banner.secret_key),
            publishable_key: key(banner.publishable_key),
            folder: path,
        }));
    }));
    let running = async {
        let server = tokio::select! {
            server = is_ready => server?,
            Some(signal) = signals.recv() => return Ok(code_of(signal)),
        };
        run(server, signals).await
    };
    let (lost, ended) = tokio::select! {
        biased;
        done = &mut serving => (None, done.and(Err("the server has stopped".into()))),
        ended = running => {
            drop(stop);
            let lost = match timeout(if exports { EXPORT } else { STOP }, serving).await {
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) if exports => Some("the server does not stop, and its account is not exported".to_owned()),
                Ok(Ok(())) | Err(_) => None,
            };
            (lost, ended)
        }
    };
    if let Some(kept) = folder.take_if(|_| setup.keep) {
        terminal::print_notice(format_args!("The data directory is {}", kept.keep().display()));
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
    let arguments: Vec<_> = arguments.collect();
    let options = without_empty_variables(Serve::augment_args(clap::Command::new("serve")));
    let matches = options.clone().try_get_matches_from(&arguments);
    let matches = matches
        .map_err(|error| wrong_variable(&error, &options, &arguments).unwrap_or_else(|| error.to_string()))?;
    let mut serve = Serve::from_arg_matches(&matches)?;
    // Nor does it write what belongs to another installation.
    (serve.options.admin_listen, serve.options.blobs, serve.options.audit_anchor) = (None, None, None);
    // The address of another server, unless all that clients see is to be the same in each run.
    serve.options.base_url = serve.options.base_url.filter(|_| serve.database.seed.is_some());
    (serve.database.database_url, serve.fixtures) = (None, fixtures);
    Ok(serve)
}

/// Waits for the end of the input, or a signal.
async fn until_input_ends(mut signals: Signals) -> ExitCode {
    let (open, ended) = oneshot::channel::<()>();
    // A thread of its own does not keep the process from ending.
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        drop(open);
    });
    tokio::select! {
        _ = ended => ExitCode::SUCCESS,
        Some(signal) = signals.recv() => code_of(signal),
    }
}
