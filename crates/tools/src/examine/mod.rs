//! `card-payments examine`: finds what an integration has forgotten. Unless a server is named, the program brings one.

pub mod client;
pub mod receiver;

use std::error::Error;
use std::io::{self, Write};
use std::pin::pin;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::time::timeout;

use self::client::{ClientOptions, Examiner, Totals};
use self::receiver::ReceiverOptions;
use crate::known_api::KnownApi;
use crate::own_server::{OwnServer, Signals, code_of, spawn, until_end};
use crate::server_options::{ServerOptions, refuse_live};
use crate::terminal;

/// Examines a receiver by events of the server that is named.
pub async fn examine_receiver(
    options: ReceiverOptions,
    server: ServerOptions,
    api: &KnownApi,
) -> Result<ExitCode, Box<dyn Error>> {
    let server = server.open().await?;
    refuse_live(&server, "nothing is examined").await?;
    receiver::examine(options, &server, api).await?;
    Ok(ExitCode::SUCCESS)
}

/// Examines a receiver by events of a server of its own, until a signal ends it.
pub async fn examine_own_receiver(
    options: ReceiverOptions,
    api: KnownApi,
    server: OwnServer,
    mut signals: Signals,
) -> Result<ExitCode, Box<dyn Error>> {
    let server = server.client().await?;
    tokio::select! {
        ended = receiver::examine(options, &server, &api) => ended.map(|()| ExitCode::SUCCESS),
        Some(signal) = signals.recv() => Ok(code_of(signal)),
    }
}

/// Runs a command in front of a server of its own, and judges its requests.
pub async fn examine_client(
    options: ClientOptions,
    api: KnownApi,
    server: OwnServer,
    signals: Signals,
) -> Result<ExitCode, Box<dyn Error>> {
    let mut command = server.command(options.command());
    let label = options.total_label().map(str::to_owned);
    let examiner = Examiner::start(options, &api, &server.url).await?;
    command.env("CARD_PAYMENTS_URL", examiner.address());
    if label.is_some() {
        command.stdout(Stdio::piped());
    }
    let mut child = match spawn(&mut command) {
        Ok(child) => child,
        Err(exit_code) => return Ok(exit_code),
    };
    let output = child.stdout.take();
    let mut totals = Totals::default();
    let (ended, read) = {
        let mut running = pin!(until_end(child, signals));
        let mut reading = pin!(async {
            match (label, output) {
                (Some(label), Some(output)) => read_totals(&label, output, &mut totals).await,
                (None, _) | (_, None) => Ok(()),
            }
        });
        tokio::select! {
            ended = &mut running => (ended?, timeout(LAST_OUTPUT, reading).await.unwrap_or(Ok(()))),
            read = &mut reading => (running.await?, read),
        }
    };
    read?;
    let is_good = examiner.finish(&server.client().await?, totals.sum()).await?;
    Ok(if ended == ExitCode::SUCCESS && !is_good { ExitCode::FAILURE } else { ended })
}

/// The time for which the output of a command that has ended is read: a process that it has left behind may hold it open for ever.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// Passes the output of a command on, and reads its totals.
async fn read_totals(label: &str, output: impl AsyncRead + Unpin, totals: &mut Totals) -> io::Result<()> {
    let (mut output, mut line) = (BufReader::new(output), Vec::new());
    while output.read_until(b'\n', &mut line).await? > 0 {
        totals.add_line(label, &String::from_utf8_lossy(&line));
        terminal::stdout().write_all(&line)?;
        line.clear();
    }
    terminal::stdout().flush()
}
