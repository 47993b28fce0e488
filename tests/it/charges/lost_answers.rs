//! The acquirer does what it is asked, and its answer is lost: at every call site, over and over. Nothing is lost, and
//! nothing happens twice. `CARD_PAYMENTS_LOST_ANSWERS` (3) says how often at each site.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use axum::body::Body;
use entity::charge::{ChargeState, Origin};
use entity::{TimeSpan, charge, refund};
use http::{Method, header};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use serde_json::{Value, json};

use crate::harness::flaky_acquirer::CallFault;
use crate::harness::{Answer, App, Client, FlakyAcquirer, charge_with, rules, token_of};
use crate::three_d_secure::{pending, press};

const CARD: &str = "4200000000000000";

/// Where the acquirer is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallSite {
    /// Money is wanted, by each who may ask for it.
    Authorise(Origin),
    /// A cancelled subscription goes on: the origin of its first charge, but another row to conclude.
    Reactivation,
    /// What was approved is followed up, under either name.
    Capture(Origin),
    Void(Origin),
    Refund,
}

/// The files that call the acquirer, and what they want of it. [`sites`] has a site for each who comes there.
const CALLS: [(&str, &str); 4] = [
    ("payments/creation.rs", "authorise"),
    ("payments/follow_up.rs", "capture"),
    ("payments/follow_up.rs", "void"),
    ("refunds/submit.rs", "refund"),
];

pub fn sites() -> Vec<CallSite> {
    let calls_acquirer = |origin: Origin| match origin {
        Origin::Payment
        | Origin::Challenge
        | Origin::Authorisation
        | Origin::Subscription
        | Origin::Renewal => true,
        // The charge of a captured authorisation: it makes no call of its own.
        Origin::Capture => false,
    };
    let mut sites: Vec<_> = Origin::ALL
        .iter()
        .copied()
        .filter(|origin| calls_acquirer(*origin))
        .map(CallSite::Authorise)
        .collect();
    sites.push(CallSite::Reactivation);
    for origin in [Origin::Payment, Origin::Authorisation] {
        sites.extend([CallSite::Capture(origin), CallSite::Void(origin)]);
    }
    sites.push(CallSite::Refund);
    sites
}

/// A request under a key, as often as it is sent.
struct KeyedRequest<'c> {
    client: &'c Client,
    method: Method,
    path: String,
    body: Value,
    key: String,
}

impl KeyedRequest<'_> {
    async fn sent(&self) -> Answer {
        let request = self.client.request(self.method.clone(), &self.path);
        let request =
            request.header("Idempotency-Key", &self.key).header(header::CONTENT_TYPE, "application/json");
        self.client.send(request.body(Body::from(self.body.to_string())).unwrap()).await
    }

    /// It is done by now, and stays done in the same words.
    async fn is_done(&self) -> Value {
        let (first, again) = (self.sent().await, self.sent().await);
        assert_eq!((first.status, &first.text), (again.status, &again.text), "{} {}", self.method, self.path);
        assert_eq!(again.headers["idempotent-replayed"], "true");
        // A capture by POST answers like one by PUT.
        let creates = self.method == Method::POST && !self.path.contains("/authorisations/");
        first.ok(if creates { 201 } else { 200 })
    }
}

/// Loses one answer there, and checks that the request still has its effect.
pub async fn loses(app: &App, acquirer: &FlakyAcquirer, site: CallSite, round: usize) {
    let client = &app.client();
    let keyed = |method: Method, path: &str, body: Value| KeyedRequest {
        client,
        method,
        path: path.to_owned(),
        body,
        key: format!("{site:?}-{round}"),
    };
    let by_card = |parameters: Value| async move {
        let token = client.card_token(CARD).await;
        charge_with(400, json!({ "card": null, "card_token": token, "capture": parameters }))
    };
    match site {
        CallSite::Authorise(Origin::Payment | Origin::Capture) => {
            creation(acquirer, keyed(Method::POST, "/1/charges", by_card(json!(true)).await)).await;
        }
        CallSite::Authorise(Origin::Authorisation) => {
            creation(acquirer, keyed(Method::POST, "/1/authorisations", by_card(Value::Null).await)).await;
        }
        CallSite::Authorise(Origin::Challenge) => {
            let three_d_secure = json!({ "enabled": true, "callback_url": "https://shop.example.com/" });
            let (token, page) =
                pending(client, &charge_with(400, json!({ "three_d_secure": three_d_secure }))).await;
            acquirer.carry(CallFault::Call);
            assert_eq!(press(&app.anonymous(), &page, "decision=approve").await.status, 303);
            acquirer.carry(CallFault::Both);
            // No client was told that it failed, so the payment stands.
            assert_eq!(client.charge(&token).await["captured"], true);
        }
        CallSite::Authorise(Origin::Subscription) => {
            let (plan, customer) = subscriber(client).await;
            let params = json!({ "plan_token": plan, "customer_token": customer });
            creation(acquirer, keyed(Method::POST, "/1/subscriptions", params)).await;
            assert_eq!(client.charged(&customer).await.len(), 1);
            client.delete(&format!("/1/customers/{customer}")).await.ok(204);
        }
        CallSite::Authorise(Origin::Renewal) => {
            let (plan, customer) = subscriber(client).await;
            client.subscribed(&plan, &customer).await;
            acquirer.carry(CallFault::Call);
            app.clock.advance(TimeSpan::days(31));
            app.do_due_work().await;
            acquirer.carry(CallFault::Both);
            assert_eq!(client.charged(&customer).await.len(), 2);
            client.delete(&format!("/1/customers/{customer}")).await.ok(204);
        }
        CallSite::Reactivation => {
            let (plan, customer) = subscriber(client).await;
            let path = format!("/1/subscriptions/{}", client.subscribed(&plan, &customer).await);
            client.delete(&path).await.ok(200);
            app.clock.advance(TimeSpan::days(40));
            creation(acquirer, keyed(Method::PUT, &format!("{path}/reactivate"), json!({}))).await;
            assert_eq!(client.charged(&customer).await.len(), 2);
            client.delete(&format!("/1/customers/{customer}")).await.ok(204);
        }
        CallSite::Capture(Origin::Authorisation) => {
            let path = format!("/1/authorisations/{}/charges", client.authorisation(400).await);
            follow_up(app, acquirer, keyed(Method::POST, &path, json!({ "amount": 300 }))).await;
        }
        CallSite::Void(Origin::Authorisation) => {
            let path = format!("/1/authorisations/{}/void", client.authorisation(400).await);
            follow_up(app, acquirer, keyed(Method::PUT, &path, json!({}))).await;
        }
        CallSite::Capture(_) => {
            let path = format!("/1/charges/{}/capture", client.authorised(400).await);
            follow_up(app, acquirer, keyed(Method::PUT, &path, json!({}))).await;
        }
        CallSite::Void(_) => {
            let path = format!("/1/charges/{}/void", client.authorised(400).await);
            follow_up(app, acquirer, keyed(Method::PUT, &path, json!({}))).await;
        }
        CallSite::Refund => {
            let path = format!("/1/charges/{}/refunds", token_of(&client.captured(400).await));
            let request = keyed(Method::POST, &path, json!({ "amount": 100 }));
            acquirer.carry(CallFault::Call);
            let refund = request.is_done().await;
            app.do_due_work().await;
            acquirer.carry(CallFault::Both);
            // It is asked again under the acquirer's same key; ten seconds later it has succeeded.
            for _ in 0..2 {
                app.clock.advance(TimeSpan::seconds(40));
                app.do_due_work().await;
            }
            assert_eq!(
                client.get(&format!("/1/refunds/{}", token_of(&refund))).await.ok(200)["success"],
                true
            );
        }
    }
}

/// Nothing was charged, and the next attempt under the key is another call.
async fn creation(acquirer: &FlakyAcquirer, request: KeyedRequest<'_>) {
    acquirer.carry(CallFault::Call);
    request.sent().await.refused(502, "gateway_error");
    acquirer.carry(CallFault::Both);
    request.is_done().await;
}

/// It is not known until a worker has asked, and then it was done.
async fn follow_up(app: &App, acquirer: &FlakyAcquirer, request: KeyedRequest<'_>) {
    acquirer.carry(CallFault::Call);
    request.sent().await.refused(502, "gateway_error");
    acquirer.carry(CallFault::Both);
    request.sent().await.refused(409, "idempotency_key_in_use");
    app.clock.advance(TimeSpan::seconds(31));
    app.do_due_work().await;
    request.is_done().await;
}

async fn subscriber(client: &Client) -> (String, String) {
    let customer = token_of(&client.customer(CARD).await);
    (client.plan(&json!({})).await, customer)
}

/// Rounds that one server lives: each moves its clock by 71 days, and in May 2030 the cards end.
const ROUNDS_OF_A_SERVER: usize = 15;

/// An answer of every site is lost in each round. What is lost or doubled at the end.
async fn live(app: &App, acquirer: &FlakyAcquirer, rounds: Range<usize>) -> (usize, usize) {
    for round in rounds {
        for site in sites() {
            loses(app, acquirer, site, round).await;
        }
    }
    compared(app, acquirer).await
}

rules! {
    async fn an_answer_that_is_lost_loses_nothing_and_repeats_nothing(app, acquirer) {
        let rounds = std::env::var("CARD_PAYMENTS_LOST_ANSWERS").map_or(3, |rounds| rounds.parse().unwrap());
        let (mut lost, mut doubled) = live(app, acquirer, 0..rounds.min(ROUNDS_OF_A_SERVER)).await;
        for first in (ROUNDS_OF_A_SERVER..rounds).step_by(ROUNDS_OF_A_SERVER) {
            let acquirer = Arc::new(FlakyAcquirer::default());
            let next = Arc::clone(&acquirer).start(app.database).await.unwrap();
            let more = live(&next, &acquirer, first..rounds.min(first + ROUNDS_OF_A_SERVER)).await;
            (lost, doubled) = (lost + more.0, doubled + more.1);
            next.check_books().await;
        }
        let sites = sites().len();
        println!(
            "lost-answers on {:?}: {rounds} rounds, {} faults, {lost} lost, {doubled} doubled, {} 5xx",
            app.database, rounds * sites, rounds * (sites - 3)
        );
        assert_eq!((lost, doubled), (0, 0));
    }
}

rules! {
    async fn an_answer_that_is_learnt_days_later_is_kept_for_24_hours_more(app, acquirer) {
        let client = &app.client();
        let path = format!("/1/charges/{}/capture", client.authorised(400).await);
        let request =
            KeyedRequest { client, method: Method::PUT, path, body: json!({}), key: "silence".into() };
        acquirer.carry(CallFault::Call);
        request.sent().await.refused(502, "gateway_error");
        acquirer.carry(CallFault::Both);
        app.clock.advance(TimeSpan::days(2));
        request.sent().await.refused(409, "idempotency_key_in_use");
        app.do_due_work().await;
        app.clock.advance(TimeSpan::seconds(23 * 3600));
        app.do_due_work().await;
        let captured = request.is_done().await;
        assert_eq!(captured["captured"], true);
        app.clock.advance(TimeSpan::seconds(3600));
        app.do_due_work().await;
        assert_eq!(app.number("SELECT COUNT(*) FROM idempotency_answers").await, 0);
    }
}

/// What stands at the acquirer and in none of our books, and the other way round.
pub async fn compared(app: &App, acquirer: &FlakyAcquirer) -> (usize, usize) {
    let db = app.ctx().store.read();
    let charges =
        charge::Entity::find().filter(charge::Column::Origin.ne(Origin::Capture)).all(db).await.unwrap();
    let refunds =
        refund::Entity::find().filter(refund::Column::Announced.is_not_null()).all(db).await.unwrap();
    let here =
        charges.iter().flat_map(stands).chain(refunds.iter().map(|refund| format!("{}:refund", refund.id)));
    // A capture or void is asked for under a number of its own each time, and done once.
    let there = acquirer.done().into_iter().map(|key| key.split(':').take(2).collect::<Vec<_>>().join(":"));
    let mut apart = BTreeMap::<String, isize>::new();
    there.for_each(|call| *apart.entry(call).or_default() += 1);
    here.for_each(|call| *apart.entry(call).or_default() -= 1);
    let sum = |apart: isize| usize::try_from(apart).unwrap_or_default();
    (apart.values().map(|apart| sum(*apart)).sum(), apart.values().map(|apart| sum(-apart)).sum())
}

/// What an acquirer must have done where our books have this charge. What was captured at once was not captured by a call
/// of its own.
fn stands(charge: &charge::Model) -> Vec<String> {
    let actions: &[&str] = match charge.state {
        ChargeState::Captured if charge.capture => &["charge"],
        ChargeState::Captured => &["charge", "capture"],
        ChargeState::Voided => &["charge", "void"],
        ChargeState::Authorised | ChargeState::Capturing | ChargeState::Voiding => &["charge"],
        ChargeState::Pending | ChargeState::Processing | ChargeState::Failed => &[],
    };
    actions.iter().map(|action| format!("{}:{action}", charge.token())).collect()
}

/// Every file below a folder, with its text.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                sources(&path)
            } else {
                vec![(path.display().to_string(), std::fs::read_to_string(&path).unwrap())]
            }
        })
        .collect()
}

#[test]
fn no_call_of_the_acquirer_is_without_a_lost_answer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let trait_of = std::fs::read_to_string(root.join("crates/acquirer/src/lib.rs")).unwrap();
    let methods: BTreeSet<_> = trait_of
        .lines()
        .filter(|line| line.ends_with("Failure>>;"))
        .map(|line| line.trim().strip_prefix("fn ").unwrap().split('(').next().unwrap())
        .collect();
    assert_eq!(methods, CALLS.iter().map(|(_, method)| *method).collect());
    let services = root.join("src/services");
    let mut calls = BTreeSet::new();
    for (file, text) in sources(&services) {
        let file = Path::new(&file).strip_prefix(&services).unwrap().display().to_string();
        let text: String = text.split_whitespace().collect();
        for method in &methods {
            let times = text.matches(&format!("acquirer.{method}(")).count();
            assert!(times <= 1, "{file} calls {method} more than once");
            if times == 1 {
                calls.insert((file.clone(), (*method).to_owned()));
            }
        }
    }
    assert_eq!(
        calls,
        CALLS.iter().map(|(file, method)| ((*file).to_owned(), (*method).to_owned())).collect()
    );
}
