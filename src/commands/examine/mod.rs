//! `card-payments examine`: finds what an integration has forgotten.

pub mod client;
pub mod receiver;

use std::error::Error;
use std::io::{self, Write};
use std::process::{ExitCode, Stdio};

use card_payments::api;
use card_payments::config::FixtureOptions;
use clap::{Args, Subcommand};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tools::server_options::{ServerOptions, refuse_live};
use tools::terminal;

use self::client::{ClientOptions, Examiner, Totals};
use self::receiver::ReceiverOptions;
use super::exec::{self, OwnServer, ServerSetup, Signals};

/// Examine a client of the API, or a receiver of its webhooks.
#[derive(Subcommand)]
pub enum Examine {
    Receiver(Box<ExamineReceiver>),
    Client(Box<ExamineClient>),
}

/// Send a receiver of webhooks what it will meet one day, and judge its answers.
///
/// Makes real events happen in an account of their own, on a server of its own or on the one that --server names, and sends them to the
/// receiver in 29 cases: well signed, forged, old, twice, out of order, slowly, in a burst, and so on. Each case says what a good
/// receiver answers, and why. A receiver on any address is sent to; it needs no webhook endpoint.
///
/// Exit code 1 if an answer is not what a good receiver's would be.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  card-payments examine receiver http://127.0.0.1:9000/ --secret whsec_...\n  \
    card-payments examine receiver localhost:9000 --only yesterday,tomorrow --junit receiver.xml\n  \
    card-payments examine receiver --list\n\n\
    With --json {receiver, seed, passed, failed, cases: [{name, sent, expected, why, guide, passed, status, error, \
    error_description, ms}]}; --list --json {name, sent, expected, why, guide}, one object per case."
)]
pub struct ExamineReceiver {
    #[command(flatten)]
    options: ReceiverOptions,
    #[command(flatten)]
    server: ServerOptions,
}

/// Run a command beside a server that misbehaves as the world does, and judge its requests.
///
/// Starts a server as exec does. CARD_PAYMENTS_URL leads to it through a network that loses answers of requests that were done, answers
/// 502, and 503 with Retry-After, in place of the server, is slow, and breaks connections. The same request is disturbed twice at
/// most. Requests of the sandbox are neither disturbed nor judged: by them tests prepare accounts.
///
/// Judges the requests: every change has an Idempotency-Key, and so on; docs/examine.md has the rules. Names each request that breaks
/// one.
///
/// Exit code: the command's; 1 if it is 0 and a rule was broken.
#[derive(Args)]
#[command(after_help = "Examples:\n  card-payments examine client -- pytest\n  \
    card-payments examine client --faults 50 --seed 7 --log requests.jsonl --junit client.xml -- npm test\n  \
    card-payments examine client --expect-total 'Total:' -- ./shop\n\n\
    With --json {seed, requests, disturbed, findings: [{rule, request, line, text, method, path}]}.")]
pub struct ExamineClient {
    #[command(flatten)]
    options: ClientOptions,
    #[command(flatten)]
    fixtures: FixtureOptions,
}

pub async fn run(command: Examine) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        Examine::Receiver(command) => receiver(*command).await,
        Examine::Client(command) => client(*command).await,
    }
}

async fn receiver(ExamineReceiver { options, server }: ExamineReceiver) -> Result<ExitCode, Box<dyn Error>> {
    if !options.needs_server() {
        receiver::list(&options)?;
        return Ok(ExitCode::SUCCESS);
    }
    if server.is_named() {
        let server = server.open().await?;
        refuse_live(&server, "nothing is examined").await?;
        receiver::examine(options, &server).await?;
        return Ok(ExitCode::SUCCESS);
    }
    // Tokens and times are the same in each run, too.
    let setup = ServerSetup { seed: Some(format!("examine {}", options.seed())), ..ServerSetup::default() };
    Box::pin(exec::serve_while(
        setup,
        None,
        |_| {},
        |server, signals| examine_receiver(options, server, signals),
    ))
    .await
}

async fn examine_receiver(
    options: ReceiverOptions,
    server: OwnServer,
    mut signals: Signals,
) -> Result<ExitCode, Box<dyn Error>> {
    let server = server.client().await?;
    tokio::select! {
        ended = receiver::examine(options, &server) => ended.map(|()| ExitCode::SUCCESS),
        Some(signal) = signals.recv() => Ok(exec::code_of(signal)),
    }
}

async fn client(ExamineClient { options, fixtures }: ExamineClient) -> Result<ExitCode, Box<dyn Error>> {
    let setup = ServerSetup { fixtures, ..ServerSetup::default() };
    Box::pin(exec::serve_while(
        setup,
        None,
        |_| {},
        |server, signals| examine_client(options, server, signals),
    ))
    .await
}

async fn examine_client(
    options: ClientOptions,
    server: OwnServer,
    signals: Signals,
) -> Result<ExitCode, Box<dyn Error>> {
    let mut command = server.command(options.command());
    let label = options.total_label().map(str::to_owned);
    let examiner = Examiner::start(options, &api::openapi(), &server.url).await?;
    command.env("CARD_PAYMENTS_URL", examiner.address());
    if label.is_some() {
        command.stdout(Stdio::piped());
    }
    let mut child = match exec::spawn(&mut command) {
        Ok(child) => child,
        Err(exit_code) => return Ok(exit_code),
    };
    let output = child.stdout.take();
    let reading = async {
        match (label, output) {
            (Some(label), Some(output)) => read_totals(&label, output).await,
            (None, _) | (_, None) => Ok(Totals::default()),
        }
    };
    let (ended, totals) = tokio::join!(exec::until_end(child, signals), reading);
    let (ended, totals) = (ended?, totals?);
    let is_good = examiner.finish(&server.client().await?, totals.sum()).await?;
    Ok(if ended == ExitCode::SUCCESS && !is_good { ExitCode::FAILURE } else { ended })
}

/// Passes the output of a command on, and reads its totals.
async fn read_totals(label: &str, output: impl AsyncRead + Unpin) -> io::Result<Totals> {
    let (mut totals, mut output, mut line) = (Totals::default(), BufReader::new(output), Vec::new());
    while output.read_until(b'\n', &mut line).await? > 0 {
        totals.add_line(label, &String::from_utf8_lossy(&line));
        terminal::stdout().write_all(&line)?;
        line.clear();
    }
    terminal::stdout().flush()?;
    Ok(totals)
}
