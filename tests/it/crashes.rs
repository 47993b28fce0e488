//! The real program, killed at random moments under load: what it has acknowledged is there, nothing is there twice,
//! the books are right, and every event reaches its receiver.
//!
//! `CARD_PAYMENTS_CRASH_ROUNDS` (10) says how often it is killed, `CARD_PAYMENTS_CRASH_SEED` repeats a run.

mod billing;
mod clock;
mod disputes;
mod load;
mod payouts;
mod points;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use self::load::{Acknowledged, Chance, Client, Server, Verb};
use crate::harness::postgres::Cluster;
use crate::harness::process::{Process, output, pause, program};
use crate::harness::receiver::{Received, Receiver};

const CLIENTS: usize = 6;
const OPENING: i64 = 100_000_000;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |number| number.parse().unwrap())
}

/// What runs, and what is killed.
struct Mortal {
    data: tempfile::TempDir,
    cluster: Option<Cluster>,
}

impl Mortal {
    fn command(&self) -> Command {
        let mut command = program(self.data.path());
        command.env("CARD_PAYMENTS_LOG", "error");
        if let Some(cluster) = &self.cluster {
            command.env("CARD_PAYMENTS_DATABASE_URL", cluster.url());
        }
        command
    }

    fn start(&self) -> Process {
        Process::start(&mut self.command())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sqlite_server_that_is_killed_loses_nothing_and_does_nothing_twice() {
    killed_under_load(None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgresql_server_or_its_database_that_is_killed_loses_nothing_and_does_nothing_twice() {
    let Some(cluster) = Cluster::durable() else { return };
    killed_under_load(Some(cluster)).await;
}

async fn killed_under_load(cluster: Option<Cluster>) {
    let rounds = number("CARD_PAYMENTS_CRASH_ROUNDS", 10);
    let seed = number("CARD_PAYMENTS_CRASH_SEED", getrandom::u64().unwrap() >> 1);
    println!("CARD_PAYMENTS_CRASH_SEED={seed}");
    let receiver = Receiver::start().await;
    let url = receiver.url();
    let done = tokio::task::spawn_blocking(move || {
        let mortal = Mortal { data: tempfile::tempdir().unwrap(), cluster };
        run(mortal, rounds, seed, &url)
    });
    let (mortal, process, server, acknowledged) = done.await.unwrap();
    let events = tokio::task::spawn_blocking({
        let server = server.clone();
        move || {
            quiet(&server);
            verify(&server, &acknowledged);
            all(&server, "/1/events")
        }
    });
    let events = events.await.unwrap();
    delivered(&receiver, &server, &events).await;
    let (code, stdout, stderr) = output(mortal.command().args(["ledger", "verify"]));
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    drop(process);
}

/// Rounds of load and kills; then a server that lives, and everything that it has promised.
fn run(
    mut mortal: Mortal,
    rounds: u64,
    seed: u64,
    receiver: &str,
) -> (Mortal, Process, Server, Vec<Acknowledged>) {
    let mut chance = Chance(seed);
    let mut process = Some(mortal.start());
    let address = process.as_ref().unwrap().address;
    let (secret, _) = process.as_ref().unwrap().keys();
    let form = format!("url={receiver}");
    process.as_ref().unwrap().ask("POST", "/1/webhook_endpoints", Some(&secret), &form).ok(201);
    let server = Server { address: Arc::new(RwLock::new(address)), secret };
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> =
        (0..CLIENTS).map(|name| Client::start(server.clone(), name, seed, Arc::clone(&stop))).collect();
    for _ in 0..rounds {
        pause(Duration::from_millis(200 + chance.below(1300)));
        match &mut mortal.cluster {
            Some(cluster) if chance.below(2) == 0 => cluster.crash(),
            _ => {
                // SIGKILL.
                drop(process.take());
                let started = mortal.start();
                *server.address.write().unwrap() = started.address;
                process = Some(started);
            }
        }
    }
    pause(Duration::from_millis(500));
    stop.store(true, Ordering::Relaxed);
    let acknowledged = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
    (mortal, process.unwrap(), server, acknowledged)
}

/// Every record of a list, oldest last.
fn all(server: &Server, path: &str) -> Vec<Value> {
    let mut records = Vec::new();
    for page in 1.. {
        let more = server.get(&format!("{path}?per_page=500&page={page}"));
        let more = more.as_array().unwrap().clone();
        if more.is_empty() {
            break;
        }
        records.extend(more);
    }
    records
}

/// Wait until the workers have nothing left to settle: refunds ten seconds after they were made.
fn quiet(server: &Server) {
    let deadline = Instant::now() + Duration::from_secs(90);
    while all(server, "/1/refunds").iter().any(|refund| refund["success"].is_null()) {
        assert!(Instant::now() < deadline, "refunds stay pending");
        pause(Duration::from_millis(300));
    }
}

/// What was acknowledged is there as it was acknowledged, and there is nothing else.
fn verify(server: &Server, acknowledged: &[Acknowledged]) {
    let mut promised: BTreeMap<&str, Value> = BTreeMap::new();
    let mut refunds = BTreeMap::new();
    for Acknowledged { asked, record, .. } in acknowledged {
        let token = record["token"].as_str().unwrap();
        if let Verb::Refund(amount) = asked.verb {
            assert!(
                refunds.insert(token, (record["charge"].as_str().unwrap(), amount)).is_none(),
                "{token} twice"
            );
        } else {
            let known = promised.insert(token, record.clone());
            assert_eq!(known.is_some(), matches!(asked.verb, Verb::Capture | Verb::Void), "{token} twice");
        }
    }
    let mut balance = OPENING;
    let charges = all(server, "/1/charges");
    assert_eq!(charges.len(), promised.len(), "charges");
    for charge in &charges {
        let promise =
            promised.get_mut(charge["token"].as_str().unwrap()).expect("a charge nobody was told of");
        let token = charge["token"].as_str().unwrap();
        let refunded: u64 = refunds.values().filter(|(of, _)| *of == token).map(|(_, amount)| amount).sum();
        promise["amount_refunded"] = refunded.into();
        assert_eq!(serde_json::to_string(charge).unwrap(), serde_json::to_string(promise).unwrap());
        if charge["captured"] == true {
            balance += charge["merchant_entitlement"].as_i64().unwrap() - i64::try_from(refunded).unwrap();
        }
    }
    let found = all(server, "/1/refunds");
    assert_eq!(found.len(), refunds.len(), "refunds");
    for refund in &found {
        let (charge, amount) = refunds[refund["token"].as_str().unwrap()];
        assert_eq!((&refund["charge"], &refund["amount"]), (&charge.into(), &amount.into()));
        assert_eq!(refund["success"], true, "{refund}");
    }
    let amounts = server.get("/1/balance");
    let amount = |list: &str| amounts[list][0]["amount"].as_i64().unwrap();
    assert_eq!(amount("available") + amount("pending"), balance);
    println!("{} charges, {} refunds", charges.len(), found.len());
    happened_once(server, &charges, &found);
}

/// Each thing has happened once, and nothing else has.
fn happened_once(server: &Server, charges: &[Value], refunds: &[Value]) {
    let mut happened = BTreeSet::new();
    for event in all(server, "/1/events") {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let what = (text(&event["type"]), text(&event["data"]["token"]));
        assert!(happened.insert(what.clone()), "{what:?} twice");
    }
    let count = |what: &str| happened.iter().filter(|(kind, _)| kind == what).count();
    let with = |flag: &str| charges.iter().filter(|charge| charge[flag] == true).count();
    assert_eq!(count("charge.captured"), with("captured"));
    assert_eq!(count("charge.voided"), with("authorisation_voided"));
    assert_eq!((count("refund.created"), count("refund.succeeded")), (refunds.len(), refunds.len()));
    for (kind, token) in &happened {
        let listed = charges.iter().any(|charge| charge["token"] == token.as_str());
        assert_eq!(listed, !(kind == "charge.failed" || kind.starts_with("refund.")), "{kind} {token}");
    }
}

/// Every event has reached the receiver, signed by the endpoint's key.
async fn delivered(receiver: &Receiver, server: &Server, events: &[Value]) {
    let endpoints = tokio::task::spawn_blocking({
        let server = server.clone();
        move || server.get("/1/webhook_endpoints")
    });
    let endpoints = endpoints.await.unwrap();
    let key = endpoints[0]["key"].as_str().unwrap().strip_prefix("whsec_").unwrap();
    let key = STANDARD.decode(key).unwrap();
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        let requests = receiver.received();
        let ids: BTreeSet<_> = requests
            .iter()
            .map(|request| request.headers["webhook-id"].to_str().unwrap().to_owned())
            .collect();
        let missing = events.iter().filter(|event| !ids.contains(event["token"].as_str().unwrap())).count();
        if missing == 0 {
            println!("{} events, {} deliveries", events.len(), requests.len());
            return requests.iter().for_each(|request| is_signed(request, &key));
        }
        assert!(Instant::now() < deadline, "{missing} events of {} never came", events.len());
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

fn is_signed(request: &Received, key: &[u8]) {
    let header = |name: &str| request.headers[name].to_str().unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(format!("{}.{}.", header("webhook-id"), header("webhook-timestamp")).as_bytes());
    mac.update(&request.body);
    let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    assert_eq!(header("webhook-signature"), expected);
    let event: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(event["token"], header("webhook-id"));
}
