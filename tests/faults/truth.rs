//! Compares the server's records with the acknowledged requests.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::process::pause;
use crate::load::{Acknowledged, Memory, Server, Verb};

const OPENING: i64 = 100_000_000;
/// What a transfer to a recipient costs.
const TRANSFER_FEE: u64 = 30;

/// Counts of lost records and of records that should not be there. Each is printed on stderr.
#[derive(Debug, Default)]
pub struct Wrong {
    pub lost: u64,
    pub doubled: u64,
}

impl Wrong {
    pub fn lost(&mut self, what: &str, record: &Value) {
        self.lost += 1;
        eprintln!("lost: {what} {record}");
    }

    pub fn doubled(&mut self, what: &str, record: &Value) {
        self.doubled += 1;
        eprintln!("doubled: {what} {record}");
    }

    /// Checks that the records are exactly those that were acknowledged.
    fn compare(&mut self, what: &str, mut promised: BTreeMap<String, Value>, found: &[Value]) {
        for record in found {
            match promised.remove(token(record)) {
                Some(promise) if promise == *record => {}
                Some(promise) => self.lost(&format!("{what} {promise} is"), record),
                None => self.doubled(what, record),
            }
        }
        for promise in promised.values() {
            self.lost(what, promise);
        }
    }
}

fn token(record: &Value) -> &str {
    record["token"].as_str().unwrap()
}

/// The list that a record of such a request is in; a file is in none.
fn list(verb: Verb) -> Option<&'static str> {
    match verb {
        Verb::Charge | Verb::Authorise | Verb::Capture | Verb::Void => Some("/1/charges"),
        Verb::Refund(_) => Some("/1/refunds"),
        Verb::Customer => Some("/1/customers"),
        Verb::Transfer(_) => Some("/1/transfers"),
        Verb::Upload => None,
    }
}

/// Checks that the latest acknowledged records are there. Reads lists only as far as they must be, newest first.
pub fn is_there(server: &Server, lately: &[Acknowledged], wrong: &mut Wrong) {
    let mut sought: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for acknowledged in lately.iter().filter(|acknowledged| acknowledged.request.verb.creates()) {
        match list(acknowledged.request.verb) {
            Some(list) => sought.entry(list).or_default().push(acknowledged.token()),
            None => is_stored(server, acknowledged, wrong),
        }
    }
    for (list, mut tokens) in sought {
        for page in 1.. {
            let records = server.get(&format!("{list}?per_page=500&page={page}"));
            let records = records.as_array().unwrap();
            tokens.retain(|sought| records.iter().all(|record| token(record) != *sought));
            if tokens.is_empty() || records.is_empty() {
                break;
            }
        }
        for token in tokens {
            wrong.lost(list, &token.into());
        }
    }
}

/// Returns whether an upload is there with its content.
fn is_stored(server: &Server, uploaded: &Acknowledged, wrong: &mut Wrong) {
    let shown = server.shows(&format!("/1/files/{}", uploaded.token()));
    if shown.status != 200 {
        return wrong.lost("a file", &uploaded.record["token"]);
    }
    let link = shown.json()["response"]["presigned_url"].as_str().unwrap().to_owned();
    let content = server.shows(&link[link.find("/files/").unwrap()..]);
    if content.status != 200 || content.body != uploaded.request.body {
        wrong.lost("the content of a file", &uploaded.record["token"]);
    }
}

/// Checks that all acknowledged records are there, with their money and their events, and no others.
pub fn is_whole(server: &Server, acknowledged: &[Acknowledged], wrong: &mut Wrong) {
    quiet(server);
    let mut promised: BTreeMap<&str, BTreeMap<String, Value>> = BTreeMap::new();
    let mut balance = OPENING;
    for promise in acknowledged {
        let Some(list) = list(promise.request.verb) else { continue };
        let record = promise.record.clone();
        let known = promised.entry(list).or_default().insert(promise.token().to_owned(), record);
        // Each follow-up returns the charge with new values.
        if known.is_some() == promise.request.verb.creates() {
            wrong.doubled("acknowledged", &promise.record);
        }
    }
    let mut refunds = promised.remove("/1/refunds").unwrap_or_default();
    let mut charges = promised.remove("/1/charges").unwrap_or_default();
    for promise in acknowledged {
        match promise.request.verb {
            Verb::Refund(amount) => {
                balance -= i64::try_from(amount).unwrap();
                if let Some(charge) = charges.get_mut(promise.record["charge"].as_str().unwrap()) {
                    charge["amount_refunded"] = amount.into();
                }
            }
            Verb::Transfer(amount) => balance -= i64::try_from(amount + TRANSFER_FEE).unwrap(),
            Verb::Upload => is_stored(server, promise, wrong),
            Verb::Charge | Verb::Authorise | Verb::Capture | Verb::Void | Verb::Customer => {}
        }
    }
    balance += charges.values().filter_map(|charge| charge["merchant_entitlement"].as_i64()).sum::<i64>();
    let found = server.all("/1/charges");
    wrong.compare("a charge", charges, &found);
    let settled = server.all("/1/refunds");
    // It was still to be settled when it was acknowledged.
    for shown in &settled {
        let Some(refund) = refunds.get_mut(token(shown)) else { continue };
        for field in ["success", "status_message", "error_message"] {
            refund[field] = shown[field].clone();
        }
    }
    wrong.compare("a refund", refunds, &settled);
    for (list, promised) in promised {
        wrong.compare(list, promised, &server.all(list));
    }
    let amounts = server.get("/1/balance");
    let amount = |list: &str| amounts[list][0]["amount"].as_i64().unwrap();
    assert_eq!(amount("available") + amount("pending"), balance, "the balance is what was acknowledged");
    happened_once(server, &found, &settled, wrong);
}

/// Waits until the workers have nothing left to settle: refunds ten seconds after they were made.
fn quiet(server: &Server) {
    let deadline = Instant::now() + Duration::from_mins(2);
    while server.all("/1/refunds").iter().any(|refund| refund["success"].is_null()) {
        assert!(Instant::now() < deadline, "refunds stay pending");
        pause(Duration::from_millis(300));
    }
}

/// Checks that each event is there once, and no others.
fn happened_once(server: &Server, charges: &[Value], refunds: &[Value], wrong: &mut Wrong) {
    let mut happened: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in server.all("/1/events") {
        let kind = event["type"].as_str().unwrap().to_owned();
        if !happened.entry(kind).or_default().insert(token(&event["data"]).to_owned()) {
            wrong.doubled("an event", &event);
        }
    }
    let with = |flag: &str| -> BTreeSet<String> {
        let charges = charges.iter().filter(|charge| charge[flag] == true);
        charges.map(|charge| token(charge).to_owned()).collect()
    };
    let refunds: BTreeSet<_> = refunds.iter().map(|refund| token(refund).to_owned()).collect();
    let due = [
        ("charge.captured", with("captured")),
        ("charge.voided", with("authorisation_voided")),
        ("refund.created", refunds.clone()),
        ("refund.succeeded", refunds),
    ];
    for (kind, records) in due {
        let recorded = happened.remove(kind).unwrap_or_default();
        for record in records.difference(&recorded) {
            wrong.lost(kind, &record.as_str().into());
        }
        for record in recorded.difference(&records) {
            wrong.doubled(kind, &record.as_str().into());
        }
    }
}

/// Checks that who always went on after the last event has got each one once, in the order of their numbers.
pub fn is_in_order(server: &Server, memory: &Memory, wrong: &mut Wrong) {
    while memory.read_next_events(server, 0) {}
    let read = memory.events.lock().unwrap();
    for (event, number) in read.iter().zip(1..) {
        assert_eq!(event["sequence"], number, "{event}");
    }
    let mut unread: BTreeMap<_, _> =
        server.all("/1/events").into_iter().map(|event| (token(&event).to_owned(), event)).collect();
    for event in read.iter() {
        if unread.remove(token(event)).as_ref() != Some(event) {
            wrong.doubled("an event", event);
        }
    }
    for event in unread.values() {
        wrong.lost("an event", event);
    }
}
