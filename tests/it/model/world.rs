//! An account as the specification has it, and the server's account that should be like it.

use chrono::{DateTime, NaiveDate, SecondsFormat};
use http::Method;
use serde_json::{Value, json};

use super::authorisations::Authorisation;
use super::cards::Card;
use super::charges::Charge;
use super::customers::Customer;
use super::disputes::Dispute;
use super::payouts::{Deposit, Recipient, Transfer};
use super::plans::Plan;
use super::refunds::Refund;
use super::settlement::Movement;
use super::subscriptions::Subscription;
use super::three_d_secure::Session;
use super::webhooks::Endpoint;
use super::wire::{CurlLog, Time, Wire, error, learn};
use crate::harness::random::Random;
use crate::harness::{Answer, Client};

/// An event that should have been recorded.
pub struct Event {
    pub kind: &'static str,
    pub at: Time,
    pub data: Value,
    /// The record whose token is in this event only.
    pub token_source: Option<TokenSource>,
    pub token: String,
}

#[derive(Debug, Clone, Copy)]
pub enum TokenSource {
    Charge(usize),
    Transfer(usize),
}

/// All that an account has. Records are in the order in which they were made, which is that of their ids.
pub struct World {
    pub wire: Wire,
    /// Whether workers do what is due, besides moves of the clock.
    pub has_workers: bool,
    pub now: Time,
    pub began: Time,
    pub cards: Vec<Card>,
    pub customers: Vec<Customer>,
    pub charges: Vec<Charge>,
    pub authorisations: Vec<Authorisation>,
    pub refunds: Vec<Refund>,
    pub sessions: Vec<Session>,
    pub plans: Vec<Plan>,
    pub subscriptions: Vec<Subscription>,
    pub recipients: Vec<Recipient>,
    /// Tokens of bank accounts, when they were made, and whether they were used.
    pub bank_accounts: Vec<(Value, Time, bool)>,
    pub transfers: Vec<Transfer>,
    pub deposits: Vec<Deposit>,
    pub disputes: Vec<Dispute>,
    pub endpoints: Vec<Endpoint>,
    /// The event and the endpoint of each webhook.
    pub webhooks: Vec<(usize, usize)>,
    pub events: Vec<Event>,
    /// How many of the events were compared.
    pub events_checked: usize,
    pub moved: Vec<Movement>,
    pub schedule: &'static str,
    pub settles_at: Option<Time>,
}

/// A time as the API shows it.
pub fn shown(time: Time) -> String {
    time.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// The record of an answer, which is as expected; what only the server can know is filled in.
#[track_caller]
pub fn expect_record(answer: &Answer, status: u16, mut expected: Value) -> Value {
    assert_eq!(answer.status, status, "{}\nwhere {expected} was expected", answer.text);
    let found = answer.json()["response"].clone();
    if let Some(fault) = learn(&mut expected, &found) {
        panic!("{fault}\nexpected {expected}\nfound {found}");
    }
    expected
}

/// A refusal for exactly these faults.
#[track_caller]
pub fn faulty(answer: &Answer, faults: &[(String, String)]) {
    assert_eq!(answer.faults(), faults, "{}", answer.text);
}

/// A refusal with this code, whether its body is an object or in an array.
#[track_caller]
pub fn is_refused(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, error(answer).as_str()), (status, code), "{}", answer.text);
}

/// One fault, as texts.
pub fn fault(param: &str, message: &str) -> Vec<(String, String)> {
    vec![(param.to_owned(), message.to_owned())]
}

pub fn below(random: &mut Random, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).unwrap()
}

pub fn one_in(random: &mut Random, many: u64) -> bool {
    random.below(many) == 0
}

/// One of these; more often one of the last.
pub fn pick(random: &mut Random, count: usize) -> Option<usize> {
    if count == 0 {
        return None;
    }
    let recent = if one_in(random, 2) { count.min(6) } else { count };
    Some(count - 1 - below(random, recent))
}

impl World {
    pub async fn new(maker: &Client, lines: CurlLog) -> Self {
        let made = maker.post("/1/sandbox/accounts", &json!({})).await.ok(201);
        let client = maker.keyed(made["secret_key"].as_str().unwrap());
        let wire = Wire::new(client, lines);
        let clock = wire.get("/1/sandbox/clock").await.ok(200);
        let now = clock["now"].as_str().unwrap().parse::<DateTime<_>>().unwrap();
        let mut world = Self {
            wire,
            has_workers: false,
            now,
            began: now,
            cards: Vec::new(),
            customers: Vec::new(),
            charges: Vec::new(),
            authorisations: Vec::new(),
            refunds: Vec::new(),
            sessions: Vec::new(),
            plans: Vec::new(),
            subscriptions: Vec::new(),
            recipients: Vec::new(),
            bank_accounts: Vec::new(),
            transfers: Vec::new(),
            deposits: Vec::new(),
            disputes: Vec::new(),
            endpoints: Vec::new(),
            webhooks: Vec::new(),
            events: Vec::new(),
            events_checked: 0,
            moved: Vec::new(),
            schedule: "manual",
            settles_at: None,
        };
        world.opens().await;
        world
    }

    /// One operation, drawn at random.
    pub async fn does(&mut self, operation: u64) {
        let random = &mut Random(operation);
        match random.below(100) {
            0..=5 => self.stores_card(random).await,
            6..=7 => self.looks_at_card(random).await,
            8..=12 => self.adds_customer(random).await,
            13..=16 => self.changes_customer(random).await,
            17..=19 => self.adds_card_to_customer(random).await,
            20 => self.deletes_customer_card(random).await,
            21 => self.deletes_customer(random).await,
            22..=38 => self.charges(random).await,
            39..=43 => self.captures_or_voids(random).await,
            44..=46 => self.searches_charges(random).await,
            47..=52 => self.refunds(random).await,
            53 => self.decides_refund(random).await,
            54..=57 => self.authorises(random).await,
            58..=61 => self.follows_authorisation(random).await,
            62..=63 => self.adds_plan(random).await,
            64 => self.changes_plan(random).await,
            65..=68 => self.subscribes(random).await,
            69..=72 => self.changes_subscription(random).await,
            73..=75 => self.adds_recipient(random).await,
            76..=78 => self.transfers(random).await,
            79 if one_in(random, 2) => self.schedules(random).await,
            79 => self.deposits(random).await,
            80..=82 => self.disputes(random).await,
            83..=86 => self.follows_dispute(random).await,
            87..=88 => self.changes_endpoints(random).await,
            89 => self.replays(random).await,
            90..=91 => self.create_challenge(random).await,
            92..=93 => self.looks_for_nothing(random).await,
            94..=95 => self.looks_at_nested(random).await,
            _ => self.waits(random).await,
        }
    }

    /// An event of now, with a webhook for each endpoint.
    pub fn happens(&mut self, kind: &'static str, data: Value) {
        self.happens_of(kind, data, None);
    }

    pub fn happens_of(&mut self, kind: &'static str, data: Value, token_source: Option<TokenSource>) {
        let event = self.events.len();
        let endpoints = (0..self.endpoints.len()).filter(|endpoint| self.endpoints[*endpoint].is_there);
        self.webhooks.extend(endpoints.map(|endpoint| (event, endpoint)));
        self.events.push(Event { kind, at: self.now, data, token_source, token: "?evt_".into() });
    }

    pub fn today(&self) -> NaiveDate {
        self.now.date_naive()
    }

    pub fn available(&self) -> i64 {
        let today = self.today();
        let booked = self.moved.iter().filter(|line| line.day <= today).map(|line| line.amount).sum::<i64>();
        let arrived = self.deposits.iter().filter(|deposit| deposit.at <= self.now);
        booked + arrived.map(|deposit| deposit.amount).sum::<i64>()
    }

    /// Deposits that have not arrived.
    pub fn on_their_way(&self) -> i64 {
        self.deposits.iter().filter(|deposit| deposit.at > self.now).map(|deposit| deposit.amount).sum()
    }

    pub fn pending(&self) -> i64 {
        let all: i64 = self.moved.iter().map(|line| line.amount).sum();
        all + self.deposits.iter().map(|deposit| deposit.amount).sum::<i64>() - self.available()
    }

    /// Checks that an unknown record is not found, with the code of its chapter.
    async fn looks_for_nothing(&mut self, random: &mut Random) {
        const GONE: &str = "AZqYv3rVcBKUQ1mHn7tKRw";
        let (method, path, code) = [
            (Method::GET, format!("/1/charges/ch_{GONE}"), "not_found"),
            (Method::PUT, format!("/1/charges/ch_{GONE}/capture"), "not_found"),
            (Method::PUT, format!("/1/charges/ch_{GONE}/void"), "not_found"),
            (Method::POST, format!("/1/charges/ch_{GONE}/refunds"), "not_found"),
            (Method::GET, format!("/1/cards/card_{GONE}"), "not_found"),
            (Method::GET, format!("/1/customers/ch_{GONE}"), "not_found"),
            (Method::DELETE, format!("/1/customers/cus_{GONE}"), "not_found"),
            (Method::PUT, format!("/1/authorisations/auth_{GONE}/void"), "not_found"),
            (Method::DELETE, format!("/1/plans/plan_{GONE}"), "not_found"),
            (Method::GET, format!("/1/subscriptions/sub_{GONE}"), "not_found"),
            (Method::PUT, format!("/1/subscriptions/sub_{GONE}/reactivate"), "not_found"),
            (Method::GET, format!("/1/recipients/rp_{GONE}"), "not_found"),
            (Method::GET, format!("/1/transfers/tfer_{GONE}/line_items"), "not_found"),
            (Method::GET, format!("/1/disputes/dis_{GONE}"), "not_found"),
            (Method::GET, format!("/1/events/evt_{GONE}"), "resource_not_found"),
            (Method::GET, format!("/1/webhooks/whr_{GONE}"), "resource_not_found"),
            (Method::DELETE, format!("/1/webhook_endpoints/whe_{GONE}"), "resource_not_found"),
        ][below(random, 17)]
        .clone();
        let body = if method == Method::GET { Value::Null } else { json!({}) };
        let answer = self.wire.change(random, method, &path, &[], &body).await;
        is_refused(&answer, 404, code);
    }

    /// Every list, every count, every event and the balance are as they should be.
    pub async fn agrees(&mut self) {
        self.check_events().await;
        let per_page = [1, 3, 25, 500][self.events.len() % 4].max(self.charges.len() / 12 + 1);
        let charges = self.listed_charges(|_| true);
        let customers = newest(self.customers.iter().filter(|it| it.is_there), |it| self.customer(it));
        let authorisations = newest(self.authorisations.iter(), |it| self.authorisation(it));
        let refunds = newest(self.refunds.iter(), |it| self.refund(it));
        let plans = newest(self.plans.iter().filter(|it| it.is_there), |it| self.plan(it));
        let subscriptions = self.listed_subscriptions(|_| true);
        let recipients = newest(self.recipients.iter(), |it| it.shown.clone());
        let transfers = newest(self.transfers.iter(), |it| it.shown.clone());
        let deposits = newest(self.deposits.iter(), Deposit::shown);
        let disputes = newest(self.disputes.iter(), |it| self.dispute(it));
        let endpoints = newest(self.endpoints.iter().filter(|it| it.is_there), |it| it.shown.clone());
        for (list, long, expected) in [
            ("charges", true, charges),
            ("customers", true, customers),
            ("authorisations", true, authorisations),
            ("refunds", true, refunds),
            ("plans", false, plans),
            ("subscriptions", false, subscriptions),
            ("recipients", true, recipients),
            ("transfers", true, transfers),
            ("deposits", true, deposits),
            ("disputes", true, disputes),
            ("webhook_endpoints", false, endpoints),
        ] {
            let found = self.wire.all(&format!("/1/{list}"), per_page, long).await;
            are(list, &found, &expected);
        }
        self.webhooks_agree().await;
        let (available, pending) = self.wire.client.balance().await;
        assert_eq!((available, pending), (self.available(), self.pending()), "the balance");
    }
}

/// Records as lists show them: the newest first.
pub fn newest<T>(records: impl DoubleEndedIterator<Item = T>, show: impl FnMut(T) -> Value) -> Vec<Value> {
    records.rev().map(show).collect()
}

/// What was found is what was expected, record by record.
#[track_caller]
pub fn are(list: &str, found: &[Value], expected: &[Value]) {
    for (n, (found, expected)) in found.iter().zip(expected).enumerate() {
        if let Some(fault) = learn(&mut expected.clone(), found) {
            panic!("{list}, no. {n}: {fault}\nexpected {expected}\nfound {found}");
        }
    }
    assert_eq!(found.len(), expected.len(), "how many {list}");
}
