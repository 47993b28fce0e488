//! However a clock is moved, by one big step or by many small ones, everything ends in the same state (`docs/decisions.md`,
//! 294 and 295).
//!
//! `PROPTEST_CASES` (40 on SQLite, 8 on PostgreSQL) says how many lives are lived twice.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::harness::app::another_account;
use crate::harness::{Answer, App, Client, Database, bank_account, card, charge_with, token_of};
use crate::three_d_secure::{pending, press};

/// What a merchant does on one of its days.
#[derive(Debug, Clone)]
enum MerchantAction {
    /// Stores a card.
    Card,
    /// Charges a stored card that may have expired.
    Spend(usize),
    /// Charges by one of the card numbers.
    Charge(usize, i64),
    /// Reserves.
    Authorise(i64),
    /// Reserves by the authorisations API, and may capture a part.
    Reserve(i64, bool),
    /// Asks the cardholder, who may approve, and may as well never answer.
    Challenge(i64, bool),
    /// Captures one of the charges, whatever it is.
    Capture(usize),
    /// Voids one of the charges.
    Void(usize),
    /// Refunds a part of one of the charges.
    Refund(usize, i64),
    /// Disputes a part of one of the charges.
    Dispute(usize, i64),
    /// Submits the evidence against one of the disputes.
    Submit(usize),
    /// Stores a customer, and with it a card that never expires.
    Customer,
    /// Subscribes a fresh customer, whose card is one of the numbers, to a plan: its amount, trial days, and number of
    /// intervals.
    Subscribe(usize, i64, i64, i64),
    /// The customer of one of the subscriptions unsubscribes.
    Unsubscribe(usize),
    /// One of the subscriptions is reactivated.
    Reactivate(usize),
    /// Stores a bank account that expires.
    BankAccount,
    /// Pays money out; the bank sends it back.
    Transfer(i64),
    /// Gives its webhook endpoint a fresh key; the former one signs as well for so many hours.
    Rotate(i64),
    /// Is paid out by itself from now on.
    Schedule(&'static str),
    /// Lets time pass.
    Wait(i64),
}

const NUMBERS: [&str; 4] = ["4200000000000000", "4200700000000013", "4100000000000001", "4200300000000012"];

fn action() -> impl Strategy<Value = MerchantAction> {
    prop_oneof![
        2 => Just(MerchantAction::Card),
        1 => any::<usize>().prop_map(MerchantAction::Spend),
        3 => (0..NUMBERS.len(), 100_i64..5_000).prop_map(|(number, amount)| MerchantAction::Charge(number, amount)),
        2 => (100_i64..5_000).prop_map(MerchantAction::Authorise),
        1 => (200_i64..5_000, any::<bool>()).prop_map(|(amount, captured)| MerchantAction::Reserve(amount, captured)),
        2 => (100_i64..5_000, any::<bool>()).prop_map(|(amount, approved)| MerchantAction::Challenge(amount, approved)),
        1 => any::<usize>().prop_map(MerchantAction::Capture),
        1 => any::<usize>().prop_map(MerchantAction::Void),
        4 => (any::<usize>(), 1_i64..3_000).prop_map(|(charge, amount)| MerchantAction::Refund(charge, amount)),
        2 => (any::<usize>(), 1_i64..3_000).prop_map(|(charge, amount)| MerchantAction::Dispute(charge, amount)),
        1 => any::<usize>().prop_map(MerchantAction::Submit),
        1 => Just(MerchantAction::Customer),
        3 => (0..NUMBERS.len(), prop_oneof![Just(0), 100_i64..5_000], 0_i64..9, 0_i64..4)
            .prop_map(|(number, amount, trial, intervals)| MerchantAction::Subscribe(number, amount, trial, intervals)),
        1 => any::<usize>().prop_map(MerchantAction::Unsubscribe),
        1 => any::<usize>().prop_map(MerchantAction::Reactivate),
        1 => Just(MerchantAction::BankAccount),
        1 => (0_i64..5_000).prop_map(MerchantAction::Transfer),
        1 => (0_i64..100).prop_map(MerchantAction::Rotate),
        1 => prop::sample::select(vec!["daily", "weekly", "manual"]).prop_map(MerchantAction::Schedule),
        2 => (1_i64..5_000).prop_map(MerchantAction::Wait),
    ]
}

/// What is done, and how many days are passed over afterwards: some lives are longer than events are kept.
fn life() -> impl Strategy<Value = (Vec<MerchantAction>, u32)> {
    (vec(action(), 1..16), prop_oneof![4 => 1_u32..40, 1 => 85_u32..100])
}

/// An account, and what it has made.
struct Merchant {
    client: Client,
    endpoint: String,
    /// A recipient whose bank sends back what it is paid.
    returns: String,
    cards: Vec<String>,
    charges: Vec<String>,
    subscriptions: Vec<String>,
    disputes: Vec<String>,
    /// What was answered so far.
    answers: Vec<Value>,
}

impl Merchant {
    async fn new(app: &App) -> Self {
        let keys = another_account(app.ctx()).await;
        let client = app.with_key(keys.secret.expose());
        let endpoint = token_of(&client.endpoint("http://127.0.0.1:9/").await);
        let returns = token_of(&client.recipient("999").await);
        let [cards, charges, subscriptions, disputes] = Default::default();
        Self { client, endpoint, returns, cards, charges, subscriptions, disputes, answers: Vec::new() }
    }

    async fn does(&mut self, action: &MerchantAction) {
        let one_of = |tokens: &[String], n: usize| tokens.get(n % tokens.len().max(1)).cloned();
        let pays = |amount, changes| charge_with(amount, changes);
        let answer = match action {
            MerchantAction::Card => self.client.post("/1/cards", &card(NUMBERS[0])).await,
            MerchantAction::Spend(n) => match one_of(&self.cards, *n) {
                Some(card) => self.client.charge_by(&card).await,
                None => return,
            },
            MerchantAction::Charge(number, amount) => {
                self.client
                    .post("/1/charges", &pays(*amount, json!({ "card": card(NUMBERS[*number]) })))
                    .await
            }
            MerchantAction::Authorise(amount) => {
                self.client.post("/1/charges", &pays(*amount, json!({ "capture": false }))).await
            }
            MerchantAction::Reserve(amount, captured) => self.reserves(*amount, *captured).await,
            MerchantAction::Challenge(amount, approved) => return self.challenges(*amount, *approved).await,
            MerchantAction::Capture(n) | MerchantAction::Void(n) => match one_of(&self.charges, *n) {
                Some(charge) => {
                    let verb = if matches!(action, MerchantAction::Capture(_)) { "capture" } else { "void" };
                    self.client.put_charge(&charge, verb).await
                }
                None => return,
            },
            MerchantAction::Refund(n, amount) => match one_of(&self.charges, *n) {
                Some(charge) => self.client.refund(&charge, *amount).await,
                None => return,
            },
            MerchantAction::Dispute(n, amount) => match one_of(&self.charges, *n) {
                Some(charge) => {
                    let params = json!({ "charge_token": charge, "amount": amount });
                    self.client.post("/1/sandbox/disputes", &params).await
                }
                None => return,
            },
            MerchantAction::Submit(n) => match one_of(&self.disputes, *n) {
                // Its answer has no body.
                Some(dispute) => {
                    self.client.post(&format!("/1/disputes/{dispute}/evidence"), &json!({})).await;
                    return;
                }
                None => return,
            },
            MerchantAction::Customer => {
                let customer = json!({ "email": "roland@example.com", "card": card(NUMBERS[0]) });
                self.client.post("/1/customers", &customer).await
            }
            MerchantAction::Subscribe(number, amount, trial, intervals) => {
                let (plan, customer) = self.subscriber(*number, *amount, *trial, *intervals).await;
                self.client.subscribing(&plan, &customer, &json!({})).await
            }
            MerchantAction::Unsubscribe(n) => match one_of(&self.subscriptions, *n) {
                Some(subscription) => self.client.unsubscribes(&subscription).await,
                None => return,
            },
            MerchantAction::Reactivate(n) => match one_of(&self.subscriptions, *n) {
                Some(subscription) => self.client.put_subscription(&subscription, "reactivate").await,
                None => return,
            },
            MerchantAction::BankAccount => {
                self.client.post("/1/bank_accounts", &bank_account("987654321")).await
            }
            MerchantAction::Transfer(amount) => self.client.transfer(*amount, &self.returns).await,
            MerchantAction::Rotate(hours) => {
                // Its answer holds a key.
                let rotated = self.client.rotate_key(&self.endpoint, &format!("{hours}h")).await;
                self.answers.push(json!(rotated.status));
                return;
            }
            MerchantAction::Schedule(schedule) => {
                self.client.set(json!({ "transfers_schedule": schedule })).await;
                return;
            }
            MerchantAction::Wait(minutes) => {
                self.moves(&format!("{minutes}m")).await;
                return;
            }
        };
        let token = answer.json()["response"]["token"].as_str().map(str::to_owned);
        match token {
            Some(card) if card.starts_with("card_") => self.cards.push(card),
            Some(dispute) if dispute.starts_with("dis_") => self.disputes.push(dispute),
            Some(charge) if charge.starts_with("ch_") && !self.charges.contains(&charge) => {
                self.charges.push(charge);
            }
            Some(subscription)
                if subscription.starts_with("sub_") && !self.subscriptions.contains(&subscription) =>
            {
                self.subscriptions.push(subscription);
            }
            _ => {}
        }
        self.answers.push(json!([answer.status, alike(answer.json())]));
    }

    async fn reserves(&self, amount: i64, captured: bool) -> Answer {
        let reserved = self.client.post("/1/authorisations", &charge_with(amount, json!({}))).await;
        if !captured {
            return reserved;
        }
        let path = format!("/1/authorisations/{}/charges", token_of(&reserved.ok(201)));
        self.client.post(&path, &json!({ "amount": amount - 100 })).await
    }

    async fn challenges(&self, amount: i64, approved: bool) {
        let three_d_secure = json!({ "enabled": true, "callback_url": "https://shop.example.com/" });
        let (_, page) =
            pending(&self.client, &charge_with(amount, json!({ "three_d_secure": three_d_secure }))).await;
        if approved {
            press(&self.client, &page, "decision=approve").await;
        }
    }

    /// A weekly or a daily plan, and a customer whose card may be one that is refused later on.
    async fn subscriber(&self, number: usize, amount: i64, trial: i64, intervals: i64) -> (String, String) {
        let changes = json!({
            "amount": amount, "interval": if intervals % 2 == 0 { 7 } else { 5 }, "interval_unit": "day",
            "intervals": intervals, "trial_interval": trial, "trial_interval_unit": "day",
        });
        let (plan, customer) =
            (self.client.plan(&changes).await, self.client.customer(NUMBERS[number]).await);
        (plan, token_of(&customer))
    }

    /// What ran, without tokens.
    async fn moves(&self, by: &str) -> Vec<Value> {
        let moved = self.client.move_clock(by).await;
        assert_eq!(moved["complete"], true, "{moved}");
        let Value::Array(ran) = alike(moved["ran"].clone()) else { panic!("{moved}") };
        ran
    }

    /// Everything that the API shows.
    async fn state(&self) -> Value {
        let mut state = vec![json!(self.answers)];
        for path in ["/1/sandbox/clock", "/1/balance"] {
            state.push(self.client.get(path).await.ok(200));
        }
        for list in [
            "charges",
            "authorisations",
            "refunds",
            "customers",
            "plans",
            "subscriptions",
            "disputes",
            "transfers",
            "deposits",
            "events",
            "webhooks",
        ] {
            state.push(alike(self.client.get(&format!("/1/{list}?per_page=500")).await.ok(200)));
        }
        for card in &self.cards {
            let answer = self.client.get(&format!("/1/cards/{card}")).await;
            state.push(json!([answer.status, alike(answer.json())]));
        }
        for webhook in self.client.get("/1/webhooks?per_page=500").await.ok(200).as_array().unwrap() {
            state.push(alike(self.client.get(&format!("/1/webhooks/{}", token_of(webhook))).await.ok(200)));
        }
        json!(state)
    }
}

/// The same without random values of each record: tokens.
fn alike(value: Value) -> Value {
    match value {
        Value::String(text) => match text.split_once('_') {
            Some((kind, drawn)) if drawn.len() == 22 => json!(kind),
            _ => Value::String(text),
        },
        Value::Array(items) => items.into_iter().map(alike).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, alike(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

async fn lives(database: Database, otherwise: u32) {
    let Some(app) = App::start(database).await else { return };
    let cases = std::env::var("PROPTEST_CASES").map_or(otherwise, |cases| cases.parse().unwrap());
    let mut runner = TestRunner::default();
    for _ in 0..cases {
        let (acts, days) = life().new_tree(&mut runner).unwrap().current();
        let (mut at_once, mut daily) = (Merchant::new(&app).await, Merchant::new(&app).await);
        for action in &acts {
            at_once.does(action).await;
            daily.does(action).await;
        }
        let ran_at_once = at_once.moves(&format!("{days}d")).await;
        let mut ran_daily = Vec::new();
        for _ in 0..days {
            ran_daily.extend(daily.moves("1d").await);
        }
        assert_eq!(ran_at_once, ran_daily, "{acts:?}, {days} days");
        let (at_once, daily) = (at_once.state().await, daily.state().await);
        assert_eq!(at_once, daily, "{acts:?}, {days} days");
    }
    app.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_big_step_and_daily_ones_end_alike_on_sqlite() {
    lives(Database::Sqlite, 40).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_big_step_and_daily_ones_end_alike_on_postgres() {
    lives(Database::Postgres, 8).await;
}
