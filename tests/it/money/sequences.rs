//! Whatever a merchant does in whatever order, and however its clock goes on: after each step the books are right, and
//! the balance is what a model of a few lines says (`docs/decisions.md`, 193 to 199).
//!
//! `CARD_PAYMENTS_MONEY_SEQUENCES` (30; on PostgreSQL a tenth) says how many sequences are lived.

use std::collections::BTreeMap;

use card_payments::services::accounts;
use card_payments::services::ledger::report::{ReportFilter, report, trial_balance};
use chrono::{DateTime, SecondsFormat, Utc};
use entity::{AccountToken, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::dispute_rules::{CHARGEBACK_FEE, FORGIVEN, STATUSES, follows};
use crate::harness::app::another_account;
use crate::harness::{App, Client, Database, card, charge_with, token, token_of};

const OPENING: i64 = 100_000_000;

/// One step.
#[derive(Debug, Clone)]
enum Action {
    /// A charge that is captured at once; its refunds succeed or fail.
    Charge(i64, bool),
    /// A refund of a part of one of the charges.
    Refund(usize, i64),
    /// A cardholder disputes a part of one of the charges.
    Dispute(usize, i64),
    /// The network decides one of the disputes.
    Decide(usize, &'static str),
    /// To self, to a recipient, or to one whose bank sends it back.
    Transfer(usize, i64),
    /// A deposit that arrives in so many hours.
    Deposit(i64, i64),
    /// How often it is paid out.
    Schedule(&'static str),
    /// How soon its charges are available.
    Delay(i64),
    /// Some hours pass.
    Wait(i64),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (100_i64..50_000, any::<bool>()).prop_map(|(amount, fails)| Action::Charge(amount, fails)),
        3 => (any::<usize>(), 1_i64..30_000).prop_map(|(charge, amount)| Action::Refund(charge, amount)),
        2 => (any::<usize>(), 1_i64..30_000).prop_map(|(charge, amount)| Action::Dispute(charge, amount)),
        3 => (any::<usize>(), prop::sample::select(STATUSES.to_vec()))
            .prop_map(|(dispute, status)| Action::Decide(dispute, status)),
        // Most of what there is, or what comes in a few days.
        3 => (0_usize..3, prop_oneof![0_i64..30_000, OPENING - 50_000..OPENING + 50_000])
            .prop_map(|(to, amount)| Action::Transfer(to, amount)),
        1 => (1_i64..100_000, 0_i64..72).prop_map(|(amount, hours)| Action::Deposit(amount, hours)),
        1 => prop::sample::select(vec!["daily", "weekly", "manual"]).prop_map(Action::Schedule),
        1 => (0_i64..4).prop_map(Action::Delay),
        4 => (1_i64..100).prop_map(Action::Wait),
    ]
}

/// A dispute, of which charge, how much, and whether the cardholder has it.
struct Disputed {
    token: String,
    charge: usize,
    amount: i64,
    taken: bool,
}

/// A merchant, and what the model knows of its money: all that it owns, available or not.
struct Merchant {
    account: AccountToken,
    client: Client,
    recipients: [String; 3],
    charges: Vec<(String, i64, i64)>,
    disputes: Vec<Disputed>,
    /// Amounts, and when they arrive.
    deposits: Vec<(i64, DateTime<Utc>)>,
    /// What it owned, available and pending, at the end of each instant.
    seen: BTreeMap<String, (i64, i64)>,
}

impl Merchant {
    async fn new(app: &App) -> Self {
        let secret = another_account(app.ctx()).await.secret;
        let account = accounts::authenticate(app.ctx(), &secret, None).await.unwrap().account.id();
        let client = app.with_key(secret.expose());
        let recipient = token_of(&client.recipient("987654321").await);
        let returns = token_of(&client.recipient("123999").await);
        client.set(json!({ "transfers_schedule": "daily" })).await;
        let recipients = ["self".into(), recipient, returns];
        Self {
            account,
            client,
            recipients,
            charges: Vec::new(),
            disputes: Vec::new(),
            deposits: Vec::new(),
            seen: BTreeMap::new(),
        }
    }

    async fn does(&mut self, action: &Action) {
        let (available, pending) = self.client.balance().await;
        let owned = available + pending;
        let took = match action {
            Action::Charge(amount, fails) => {
                let number = if *fails { "4200700000000013" } else { "4200000000000000" };
                let charge = charge_with(*amount, json!({ "card": card(number) }));
                let charge = self.client.post("/1/charges", &charge).await.ok(201);
                self.charges.push((token_of(&charge), *amount, 0));
                -charge["merchant_entitlement"].as_i64().unwrap()
            }
            Action::Refund(n, amount) => {
                let Some((n, left)) = self.left(*n).await else { return };
                let answer = self.client.refund(&self.charges[n].0, *amount).await;
                let expected = if *amount > left || self.standing(n).await > 0 {
                    422
                } else if *amount > owned - self.on_their_way().await {
                    402
                } else {
                    201
                };
                assert_eq!(answer.status, expected, "{}", answer.text);
                if expected == 201 { *amount } else { 0 }
            }
            Action::Dispute(n, amount) => {
                let Some((n, left)) = self.left(*n).await else { return };
                let disputed: i64 =
                    self.disputes.iter().filter(|known| known.charge == n).map(|known| known.amount).sum();
                let params = json!({ "charge_token": self.charges[n].0, "amount": amount });
                let answer = self.client.post("/1/sandbox/disputes", &params).await;
                assert_eq!(
                    answer.status,
                    if *amount > left - disputed { 422 } else { 201 },
                    "{}",
                    answer.text
                );
                if answer.status == 422 {
                    return;
                }
                let token = token_of(&answer.ok(201));
                self.disputes.push(Disputed { token, charge: n, amount: *amount, taken: true });
                amount + CHARGEBACK_FEE
            }
            Action::Decide(n, to) => return self.decides(*n, to, owned).await,
            Action::Transfer(to, amount) => {
                let cost = amount + if *to == 0 { 0 } else { 30 };
                let answer = self.client.transfer(*amount, &self.recipients[*to]).await;
                let expected = if cost <= available { 201 } else { 402 };
                assert_eq!(answer.status, expected, "{}", answer.text);
                if expected == 201 { cost } else { 0 }
            }
            Action::Deposit(amount, hours) => {
                let at = self.now().await + chrono::Duration::hours(*hours);
                self.deposits.push((*amount, at));
                let deposit = json!({ "amount": amount, "available_at": at.to_rfc3339() });
                self.client.post("/1/sandbox/deposits", &deposit).await.ok(201);
                let (now_available, _) = self.client.balance().await;
                assert_eq!(now_available - available, if *hours == 0 { *amount } else { 0 });
                -amount
            }
            Action::Schedule(schedule) => {
                self.client.set(json!({ "transfers_schedule": schedule })).await;
                0
            }
            Action::Delay(days) => {
                self.client.set(json!({ "settlement_delay_days": days })).await;
                0
            }
            Action::Wait(hours) => return self.waits(*hours, owned).await,
        };
        let (available, pending) = self.client.balance().await;
        assert_eq!(available + pending, owned - took);
    }

    async fn now(&self) -> DateTime<Utc> {
        self.client.get("/1/sandbox/clock").await.ok(200)["now"].as_str().unwrap().parse().unwrap()
    }

    async fn notes(&mut self) {
        let balance = self.client.balance().await;
        self.seen.insert(self.now().await.to_rfc3339_opts(SecondsFormat::Secs, true), balance);
    }

    /// The balance and the books of each instant are what they were, and the postings up to then.
    async fn each_instant_is_as_it_was(&self, app: &App) {
        let (store, mut postings) = (&app.ctx().store, Vec::new());
        let extent = ReportFilter { account: Some(self.account), ..ReportFilter::default() };
        let collected = report(store, extent, |row| {
            postings.push((row.created_at.to_string(), row.book, row.amount));
            Ok(())
        });
        collected.await.unwrap();
        for (at, (available, pending)) in &self.seen {
            let balance = self.client.get(&format!("/1/balance?at={at}")).await.ok(200);
            assert_eq!(
                (&balance["available"][0]["amount"], &balance["pending"][0]["amount"]),
                (&json!(available), &json!(pending)),
                "{at}"
            );
            let mut replayed = BTreeMap::new();
            for (_, book, amount) in postings.iter().filter(|(time, ..)| time <= at) {
                *replayed.entry(book.code()).or_insert(0) += amount;
            }
            let time = Timestamp::from(at.parse::<DateTime<Utc>>().unwrap());
            let books = trial_balance(store, Some(self.account), time).await.unwrap();
            assert_eq!(replayed, books.iter().map(|row| (row.book.code(), row.amount)).collect(), "{at}");
            assert_eq!(replayed.get("merchant"), Some(&(available + pending)), "{at}");
            assert_eq!(replayed.values().sum::<i64>(), 0, "{at}");
        }
    }

    /// Deposits that have not arrived.
    async fn on_their_way(&self) -> i64 {
        let now = self.now().await;
        self.deposits.iter().filter(|(_, at)| *at > now).map(|(amount, _)| amount).sum()
    }

    /// One of the charges, and how much of it is not refunded.
    async fn left(&mut self, n: usize) -> Option<(usize, i64)> {
        let n = n % self.charges.len().max(1);
        let (charge, whole, refunded) = self.charges.get_mut(n)?;
        *refunded = self.client.charge(charge).await["amount_refunded"].as_i64().unwrap();
        Some((n, *whole - *refunded))
    }

    async fn status(&self, dispute: &str) -> String {
        let dispute = self.client.get(&format!("/1/disputes/{dispute}")).await.ok(200);
        dispute["status"].as_str().unwrap().to_owned()
    }

    /// What is claimed of a charge.
    async fn standing(&self, charge: usize) -> i64 {
        let mut sum = 0;
        for dispute in self.disputes.iter().filter(|dispute| dispute.charge == charge) {
            if !FORGIVEN.contains(&self.status(&dispute.token).await.as_str()) {
                sum += dispute.amount;
            }
        }
        sum
    }

    /// Money moves where a decision gives it to the other side.
    async fn decides(&mut self, n: usize, to: &str, owned: i64) {
        let n = n % self.disputes.len().max(1);
        let Some(Disputed { token, charge, amount, .. }) = self.disputes.get(n) else { return };
        let (token, charge, amount) = (token.clone(), *charge, *amount);
        let from = self.status(&token).await;
        // What was refunded meanwhile is not claimed again.
        let left = self.left(charge).await.unwrap().1 - self.standing(charge).await;
        let again = from == "won";
        let legal = follows(&from, to) && (!again || left > 0);
        let amount = if again { amount.min(left) } else { amount };
        let answer = self.client.decide(&token, to).await;
        assert_eq!(answer.status, if legal { 200 } else { 400 }, "{from} {to}: {}", answer.text);
        let dispute = &mut self.disputes[n];
        if legal {
            dispute.amount = amount;
        }
        let takes = match to {
            _ if !legal => dispute.taken,
            "evidence_under_review" | "arbitration_under_review" => dispute.taken,
            _ => !FORGIVEN.contains(&to),
        };
        let whole = amount + CHARGEBACK_FEE;
        let expected = owned + whole * (i64::from(dispute.taken) - i64::from(takes));
        dispute.taken = takes;
        let (available, pending) = self.client.balance().await;
        assert_eq!(available + pending, expected, "{from} {to}");
    }

    /// Time takes what settlements pay and brings what comes back, and nothing else.
    async fn waits(&self, hours: i64, owned: i64) {
        let paid_before = self.list("transfers").await;
        let failed_before = self.list("refunds").await;
        let moved = self.client.move_clock(&format!("{hours}h")).await;
        assert_eq!(moved["complete"], true, "{moved}");
        let mut expected = owned;
        for transfer in self.list("transfers").await {
            let before = paid_before.iter().find(|before| before["token"] == transfer["token"]);
            let amount = transfer["amount"].as_i64().unwrap();
            let fee = if transfer["recipient"].is_null() { 0 } else { 30 };
            if before.is_none() {
                assert_eq!(transfer["description"], "Settlement");
                expected -= amount;
            } else if before.is_some_and(|before| before["status"] != transfer["status"]) {
                expected += amount + fee;
            }
        }
        for refund in self.list("refunds").await {
            let before = failed_before.iter().find(|before| before["token"] == refund["token"]).unwrap();
            if before["success"].is_null() && refund["success"] == false {
                expected += refund["amount"].as_i64().unwrap();
            }
        }
        let (available, pending) = self.client.balance().await;
        assert_eq!(available + pending, expected);
    }

    async fn list(&self, path: &str) -> Vec<Value> {
        self.client.get(&format!("/1/{path}?per_page=500")).await.ok(200).as_array().unwrap().clone()
    }

    /// What settlements have paid out is their lines, and charges show by which.
    async fn settlements_are_their_lines(&self) {
        for transfer in self.list("transfers").await {
            let lines = self.list(&format!("transfers/{}/line_items", token(&transfer))).await;
            let sum: i64 = lines.iter().map(|line| line["amount"].as_i64().unwrap()).sum();
            assert_eq!(
                (json!(sum), json!(lines.len())),
                (transfer["amount"].clone(), transfer["line_items_count"].clone())
            );
            for charge in lines.iter().filter_map(|line| line["token"].as_str()) {
                assert_eq!(self.client.charge(charge).await["transfer"][0]["token"], transfer["token"]);
            }
        }
    }
}

async fn lives(database: Database, share: usize) {
    /// Every step proves the books of all accounts, so there are not many in one database.
    const IN_ONE_DATABASE: usize = 10;
    let sequences =
        std::env::var("CARD_PAYMENTS_MONEY_SEQUENCES").map_or(30, |number| number.parse().unwrap());
    let mut left = Ord::max(sequences / share, 1);
    let mut runner = TestRunner::default();
    while left > 0 {
        let Some(app) = App::start(database).await else { return };
        for _ in 0..Ord::min(left, IN_ONE_DATABASE) {
            let acts = vec(action(), 4..20).new_tree(&mut runner).unwrap().current();
            let mut merchant = Merchant::new(&app).await;
            for action in &acts {
                merchant.does(action).await;
                merchant.notes().await;
                assert_eq!(app.differences().await, [], "after {action:?} of {acts:?}");
            }
            merchant.settlements_are_their_lines().await;
            merchant.each_instant_is_as_it_was(&app).await;
        }
        app.check_books().await;
        left = left.saturating_sub(IN_ONE_DATABASE);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_each_step_the_books_are_right_on_sqlite() {
    lives(Database::Sqlite, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_each_step_the_books_are_right_on_postgres() {
    lives(Database::Postgres, 10).await;
}
