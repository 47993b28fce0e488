//! Judges an account after the faults: everything that was acknowledged is there, once, with its money, its events and its webhooks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base::clock::IdGenerator;
use card_payments::Store;
use card_payments::services::ledger::verify::verify;
use sea_orm::{ConnectionTrait, Statement};
use serde_json::Value;
use store::Location;
use tokio::time::sleep;

use crate::acquirer_book;
use crate::harness::counts::miscounted;
use crate::harness::rows::rows;
use crate::history::History;
use crate::payer::{Payer, token};
use crate::receivers::Receivers;

/// How soon refunds are settled that no fault delays any more: ten seconds, the lease of a server that was killed, and as long as a
/// server's clock was ahead.
const SETTLED_MAX: Duration = Duration::from_mins(10);
/// How soon a webhook is sent again after its third attempt, the most that fit into the time of faults.
const RETRIED_MAX: Duration = Duration::from_mins(40);

/// An account and what was in it before the payer came.
pub struct Account {
    pub payer: Payer,
    /// The path of its endpoint.
    pub path: String,
    pub balance: i64,
    pub events: usize,
}

/// Returns all cents of an account, pending ones too.
pub async fn balance(client: &crate::client::Client) -> i64 {
    let balance = client.get("/1/balance").await;
    ["available", "pending"].iter().map(|list| balance[list][0]["amount"].as_i64().unwrap()).sum()
}

impl Account {
    /// Checks everything, and notes what is wrong.
    pub async fn judge(&self, receivers: &Receivers, history: &History) {
        let (client, book) = (&self.payer.client, &self.payer.book);
        let refunds = self.settled_refunds(history).await;
        for known in &book.acknowledged {
            known.is_repeated(client).await;
        }
        let mut charges = book.charges.clone();
        for (token, amount) in &book.refunded {
            charges.get_mut(token).unwrap()["amount_refunded"] = (*amount).into();
        }
        self.compare("charges", &charges, &client.all("charges").await, history);
        self.compare("customers", &book.customers, &client.all("customers").await, history);
        let (expected, found): (BTreeSet<_>, BTreeSet<_>) =
            (book.refunds.keys().cloned().collect(), refunds.iter().map(token).collect());
        if expected != found || found.len() != refunds.len() {
            history.fail(format_args!("{}: refunds {found:?} where {expected:?} was expected", self.path));
        }
        let expected = self.balance + book.balance();
        let found = balance(client).await;
        if found != expected {
            history.fail(format_args!("{}: a balance of {found} where {expected} was expected", self.path));
        }
        self.judge_events(&charges, &refunds, receivers, history).await;
    }

    fn compare(&self, list: &str, expected: &BTreeMap<String, Value>, found: &[Value], history: &History) {
        let by_token: BTreeMap<_, _> = found.iter().map(|record| (token(record), record.clone())).collect();
        if by_token.len() != found.len() {
            history.fail(format_args!("{}: {list} has a record twice", self.path));
        }
        for (token, record) in expected {
            match by_token.get(token) {
                None => history.fail(format_args!("{}: {list} has lost {record}", self.path)),
                Some(found) if found != record => {
                    history
                        .fail(format_args!("{}: {list} has {found} where {record} was answered", self.path));
                }
                Some(_) => {}
            }
        }
        for (token, record) in by_token {
            if !expected.contains_key(&token) {
                history.fail(format_args!("{}: {list} has {record}, which nobody was told of", self.path));
            }
        }
    }

    async fn settled_refunds(&self, history: &History) -> Vec<Value> {
        let end = simulated_machine::now() + SETTLED_MAX;
        loop {
            let refunds = self.payer.client.all("refunds").await;
            if refunds.iter().all(|refund| refund["success"] == true) {
                return refunds;
            }
            if simulated_machine::now() > end {
                history.fail(format_args!("{}: refunds are not settled: {refunds:?}", self.path));
                return refunds;
            }
            sleep(Duration::from_secs(2)).await;
        }
    }

    /// Each event is there once, in a sequence without gaps, and its endpoint has accepted it.
    async fn judge_events(
        &self,
        charges: &BTreeMap<String, Value>,
        refunds: &[Value],
        receivers: &Receivers,
        history: &History,
    ) {
        let mut events = self.payer.client.all("events").await;
        // The list is in the order of ids, which go back with a clock that jumps and a new server; sequences are in that of commits.
        events.sort_by_key(|event| event["sequence"].as_u64());
        let mut happened: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (event, sequence) in events.iter().zip(1..) {
            if event["sequence"] != sequence {
                history.fail(format_args!("{}: event {sequence} is {event}", self.path));
            }
            let kind = event["type"].as_str().unwrap().to_owned();
            happened
                .entry(kind)
                .or_default()
                .push(event["data"]["token"].as_str().unwrap_or_default().into());
        }
        let with = |flag: &str| -> Vec<String> {
            charges.values().filter(|charge| charge[flag] == true).map(token).collect()
        };
        let refunds: Vec<_> = refunds.iter().map(token).collect();
        for (kind, mut expected) in [
            ("charge.captured", with("captured")),
            ("charge.voided", with("authorisation_voided")),
            ("refund.created", refunds.clone()),
            ("refund.succeeded", refunds),
        ] {
            let mut found = happened.remove(kind).unwrap_or_default();
            expected.sort();
            found.sort();
            if found != expected {
                history
                    .fail(format_args!("{}: {kind} of {found:?} where {expected:?} was expected", self.path));
            }
        }
        let end = simulated_machine::now() + RETRIED_MAX;
        loop {
            let accepted = receivers.accepted(&self.path);
            let missing = |event: &&Value| accepted.get(&event["sequence"].as_u64().unwrap()) != Some(*event);
            let missing: Vec<_> = events.iter().skip(self.events).filter(missing).collect();
            if missing.is_empty() {
                return;
            }
            if simulated_machine::now() > end {
                let webhooks = self.payer.client.all("webhooks").await;
                let open: Vec<_> =
                    webhooks.iter().filter(|webhook| webhook["status"] != "completed").collect();
                return history
                    .fail(format_args!("{}: undelivered {missing:?}, of webhooks {open:?}", self.path));
            }
            sleep(Duration::from_secs(20)).await;
        }
    }
}

/// Proves the ledger of a database without a server, compares it with the acquirer's book, checks its counters, and notes all its rows.
pub async fn prove(location: &Location, book: Option<&Path>, history: &History) {
    let store = Store::open(location, Arc::new(IdGenerator::default())).await.unwrap();
    if let Some(book) = book {
        acquirer_book::compare(book, &store, history).await;
    }
    verify(&store, &(), |difference| history.fail(format_args!("the ledger: {difference:?}"))).await.unwrap();
    for difference in miscounted(store.read()).await {
        history.fail(format_args!("{difference:?}"));
    }
    let text = async |sql: String| {
        let found = store.read().query_one_raw(Statement::from_string(store.backend(), sql)).await;
        found.unwrap().unwrap().try_get_by_index::<String>(0).unwrap()
    };
    history.note(rows(store.backend(), text).await);
}
