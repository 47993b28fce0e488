//! `card-payments examine`: finds what an integration has forgotten. The examinations are the tools'; this is the server that they
//! bring.

use std::error::Error;
use std::process::ExitCode;

use card_payments::config::FixtureOptions;
use clap::{Args, Subcommand};
use tools::examine::client::ClientOptions;
use tools::examine::receiver::{self, ReceiverOptions};
use tools::examine::{examine_client, examine_own_receiver, examine_receiver};
use tools::server_options::ServerOptions;

use super::exec::{DataFolder, ServerSetup, serve_while};
use super::known_api::known_api;

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

pub async fn run(command: Examine, folder: &mut DataFolder) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        Examine::Receiver(command) => receiver(*command, folder).await,
        Examine::Client(command) => client(*command, folder).await,
    }
}

async fn receiver(
    ExamineReceiver { options, server }: ExamineReceiver,
    folder: &mut DataFolder,
) -> Result<ExitCode, Box<dyn Error>> {
    if !options.needs_server() {
        receiver::list(&options)?;
        return Ok(ExitCode::SUCCESS);
    }
    if server.is_named() {
        return examine_receiver(options, server, &known_api()).await;
    }
    // Tokens and times are the same in each run, too.
    let setup = ServerSetup { seed: Some(format!("examine {}", options.seed())), ..ServerSetup::default() };
    let run = |server, signals| examine_own_receiver(options, known_api(), server, signals);
    Box::pin(serve_while(setup, None, folder, |_| {}, run)).await
}

async fn client(
    ExamineClient { options, fixtures }: ExamineClient,
    folder: &mut DataFolder,
) -> Result<ExitCode, Box<dyn Error>> {
    let setup = ServerSetup { fixtures, ..ServerSetup::default() };
    let run = |server, signals| examine_client(options, known_api(), server, signals);
    Box::pin(serve_while(setup, None, folder, |_| {}, run)).await
}
