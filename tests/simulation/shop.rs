//! The history of one seed: clients pay while faults happen; then the faults end, and the judge looks at everything.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use base::{coverage, mutants};
use futures::future::join_all;
use http::Method;
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::{Value, json};
use simulated_machine::SERVERS_MAX;
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::database::Database;
use crate::faults::Fate;
use crate::harness::MONDAY;
use crate::harness::random::Random;
use crate::history::{ANSWERED_MAX, History};
use crate::installation::{Installation, serve_acquirer};
use crate::judge::{Account, balance, prove};
use crate::lives;
use crate::network::{Network, at};
use crate::options::Options;
use crate::payer::Payer;
use crate::receivers::Receivers;
use crate::scenarios::{self, Stage};

const CLIENTS_MAX: u64 = 5;
/// Longer than all accounts wait for refunds and webhooks.
const JUDGED_MAX: Duration = Duration::from_hours(6);

/// The ports: of the server, the acquirer and the receivers, and of the cables to them.
const SERVER: u16 = 8080;
const ACQUIRER: u16 = 8081;
const RECEIVERS: u16 = 8082;
const TO_SERVER: u16 = 9080;
const TO_ACQUIRER: u16 = 9081;
pub const TO_RECEIVERS: u16 = 9082;
/// How far the ports of the next server are, and of the cable to it.
const NEXT: u16 = 10;
const SERVERS_TOGETHER_MAX: u64 = 3;

/// Runs the history of a seed, and prints what is wrong with it and its digest.
pub fn run(seed: u64, options: &Options) -> ExitCode {
    options.mutants.iter().copied().for_each(mutants::choose);
    measure_processor();
    let database = options.is_postgres.then(Database::create);
    simulated_machine::start(seed, MONDAY.millis() * 1_000_000);
    let history = History::new(options.prints);
    let panics = history.clone();
    std::panic::set_hook(Box::new(move |panic| {
        eprintln!("{panic}");
        panics.fail(panic);
    }));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        live(seed, options, database.as_ref(), &history).await;
        if let Some(database) = &database {
            database.remove().await;
        }
    });
    if options.covers {
        for place in coverage::reached() {
            println!("reached: {place}");
        }
    }
    let (failures, digest) = history.end();
    for failure in &failures {
        println!("seed {seed}: {failure}");
    }
    if !failures.is_empty() {
        println!("again: cargo test --test simulation -- {}", options.repeat(seed).join(" "));
    }
    println!(
        "digest: {digest}{}",
        if database.is_some() { ", of one run: the database is a real one" } else { "" }
    );
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The recorder of metrics measures the processor's counter against the clock, once a process, for as long as the real ones need. It does so
/// before the machine starts, in a thread of its own, so that the main thread's hashes are the seed's.
fn measure_processor() {
    let measuring = std::thread::spawn(|| drop(PrometheusBuilder::new().build_recorder()));
    measuring.join().unwrap();
}

async fn live(seed: u64, options: &Options, database: Option<&Database>, history: &History) {
    let mut random = Random(seed);
    let mut next = || random.below(u64::MAX);
    let network = Network::new(next());
    if !options.allows("loss") {
        network.heal();
    }
    // A model of everything, whose time stands; or payers, whose acquirer may be elsewhere.
    let (has_model, is_remote) = match next() % 3 {
        0 => (true, false),
        1 => (false, false),
        _ => (false, true),
    };
    // Its payers know what other servers may still not know of.
    let has_model = has_model && database.is_none();
    if has_model {
        // A payment that failed leaves its key free: the model knows of no second one under the same key.
        network.keep_answers();
    }
    let receivers = Receivers::listen(RECEIVERS, next(), history);
    if !options.allows("receivers") {
        receivers.behave();
    }
    // Only PostgreSQL has several.
    let together =
        database.map_or(1, |_| options.servers.unwrap_or_else(|| 1 + next() % SERVERS_TOGETHER_MAX));
    let servers = (0..u16::try_from(together).unwrap()).map(|n| (TO_SERVER + n * NEXT, SERVER + n * NEXT));
    let servers = servers.collect::<Vec<_>>();
    for &(from, to) in servers.iter().chain(&[(TO_ACQUIRER, ACQUIRER), (TO_RECEIVERS, RECEIVERS)]) {
        network.lay(from, to).await;
    }
    let acquirer = is_remote.then_some(TO_ACQUIRER);
    let url = database.map(Database::url);
    let installation = Installation::new(next(), SERVER, acquirer, has_model, url);
    if is_remote {
        serve_acquirer(ACQUIRER, &installation.book());
    }
    let seeds = servers.iter().map(|_| next()).collect();
    let mut fates = begin_fates(&installation, &servers, seeds, options, history).await;
    leave_possible_faults(&mut fates, has_model, database.is_some());
    let clients = options.clients.unwrap_or(1 + next() % CLIENTS_MAX);
    let (secret, seeds) = (fates[0].secret(), (0..clients).map(|_| next()).collect::<Vec<_>>());
    let maker = Client::new(&servers.iter().map(|server| server.0).collect::<Vec<_>>(), &secret, history);
    let end = simulated_machine::now() + options.shop;
    let paying = if has_model {
        let begin = |seed| begin_life(&maker, &secret, seed, end);
        seeds.into_iter().map(begin).collect::<Vec<_>>()
    } else {
        let opening = seeds.into_iter().zip(1..).map(|(seed, n)| open(&maker, &receivers, n, seed));
        join_all(opening).await.into_iter().map(|account| begin_paying(account, end)).collect()
    };
    // Whatever they wish for happens to the first server.
    let plays = scenarios::choose(&mut Random(next()), has_model, &options.scenarios);
    let plays = plays.into_iter().map(|scenario| {
        history.note(format_args!("scenario {}", scenario.name));
        let seed = next();
        let wait = options.shop * u32::try_from(Random(seed).below(100)).unwrap() / 150;
        let (maker, receivers, wishes) = (maker.clone(), receivers.clone(), fates[0].wishes());
        spawn_local(async move {
            sleep(wait).await;
            let stage = Stage::open(&maker, scenario.name.into(), seed, receivers, wishes, end).await;
            scenario.play(stage).await;
        })
    });
    let plays: Vec<_> = plays.collect();
    join_all(fates.iter_mut().map(|fate| fate.strike_until(end))).await;
    fates.iter().for_each(Fate::heal);
    history.heal();
    network.heal();
    receivers.behave();
    let Ok(paid) = timeout(ANSWERED_MAX, join_all(paying)).await else {
        return history.fail("requests are not answered although the faults have ended");
    };
    let ready = servers.iter().map(|(port, _)| await_readiness(Client::new(&[*port], &secret, history)));
    if timeout(ANSWERED_MAX, join_all(ready)).await.is_err() {
        return history.fail("a server is not ready although the faults have ended");
    }
    let judging = async {
        // A payer that has panicked has said why.
        for account in paid.into_iter().flatten().flatten() {
            account.judge(&receivers, history).await;
        }
    };
    if timeout(JUDGED_MAX, judging).await.is_err() {
        return history.fail("the judge gets no answers");
    }
    // One that has panicked has said why.
    if timeout(JUDGED_MAX, join_all(plays)).await.is_err() {
        return history.fail("a scenario does not end");
    }
    join_all(fates.iter_mut().map(Fate::end)).await;
    let book = is_remote.then(|| installation.book());
    prove(&installation.location(), book.as_deref(), history).await;
    println!(
        "seed {seed}: {} requests of {clients} {} to {together} servers in {} s, {} switches, acquirer {}, faults {:?}",
        history.requests(),
        if has_model { "models" } else { "payers" },
        simulated_machine::now().as_secs(),
        simulated_machine::switches(),
        if is_remote { "elsewhere" } else { "in the process" },
        fates.iter().map(|fate| &fate.happened).collect::<Vec<_>>(),
    );
    installation.remove();
}

/// Leaves out the faults that a history is not about.
fn leave_possible_faults(fates: &mut [Fate], has_model: bool, is_postgres: bool) {
    for fate in fates {
        if has_model {
            // A payment that a kill interrupts has failed, with an event, before its key pays again: the model knows of no such event. And
            // it expects lists in the order of ids, which go back with the clock where another server starts.
            fate.leave_in(&["restart", "pause", "slow-disk"]);
        } else if is_postgres {
            // The real one fails in a test of its own.
            fate.leave_in(&["kill", "restart", "killed-at-start", "pause", "clock", "loss", "receivers"]);
        }
    }
}

/// Starts the servers, each with a share of the numbers for its successors.
async fn begin_fates(
    installation: &Installation,
    servers: &[(u16, u16)],
    seeds: Vec<u64>,
    options: &Options,
    history: &History,
) -> Vec<Fate> {
    let share = SERVERS_MAX / i32::try_from(servers.len()).unwrap();
    let beginning = servers.iter().zip(seeds).zip(0..).map(async |(((_, port), seed), n)| {
        let installation = Arc::new(installation.with_port(*port));
        Fate::begin(&installation, n * share..(n + 1) * share, seed, options, history).await
    });
    join_all(beginning).await
}

/// Lets a life of the model begin.
fn begin_life(maker: &Client, secret: &str, seed: u64, end: Duration) -> JoinHandle<Option<Account>> {
    let life = lives::live(maker.clone(), secret.to_owned(), seed, end);
    tokio::spawn(async move {
        life.await;
        None
    })
}

/// Lets an account's payer begin.
fn begin_paying(mut account: Account, end: Duration) -> JoinHandle<Option<Account>> {
    tokio::spawn(async move {
        account.payer = account.payer.pay_until(end).await;
        Some(account)
    })
}

/// Waits until a server is ready: a balancer sends it requests again.
async fn await_readiness(server: Client) {
    server.insist(Method::GET, "/readyz", None, &Value::Null).await;
}

/// Opens an account with an endpoint.
async fn open(maker: &Client, receivers: &Receivers, n: u64, seed: u64) -> Account {
    let key = format!("account-{n}");
    let made = maker.insist(Method::POST, "/1/sandbox/accounts", Some(&key), &json!({})).await.record();
    let client = maker.keyed(made["secret_key"].as_str().unwrap());
    let (balance, events) = (balance(&client).await, client.all("events").await.len());
    let path = format!("/{n}");
    let url = json!({ "url": format!("http://{}{path}", at(TO_RECEIVERS)) });
    let endpoint = client.insist(Method::POST, "/1/webhook_endpoints", Some("endpoint"), &url).await.record();
    receivers.know(&path, endpoint["key"].as_str().unwrap());
    Account { payer: Payer::new(client, &format!("payer-{n}"), seed), path, balance, events }
}
