//! A client of the model: it pays, captures, voids, refunds and stores customers under keys, and remembers each answer.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::client::{Answer, Client};
use crate::harness::random::Random;

/// A request whose outcome is known.
#[derive(Debug, Clone)]
pub struct AcknowledgedRequest {
    pub key: String,
    pub method: Method,
    pub path: String,
    pub body: Value,
    pub answer: Answer,
}

/// What an account should hold.
#[derive(Debug, Default, Clone)]
pub struct Book {
    pub acknowledged: Vec<AcknowledgedRequest>,
    /// Charges by their tokens, as the last answer about each showed it; and what was refunded of each.
    pub charges: BTreeMap<String, Value>,
    pub refunded: BTreeMap<String, i64>,
    pub refunds: BTreeMap<String, Value>,
    pub customers: BTreeMap<String, Value>,
}

impl Book {
    /// Returns the account's balance: what its charges have earned, less what was refunded.
    pub fn balance(&self) -> i64 {
        let earned = self.charges.values().filter_map(|charge| charge["merchant_entitlement"].as_i64());
        earned.sum::<i64>() - self.refunded.values().sum::<i64>()
    }
}

/// A client of one account.
pub struct Payer {
    pub client: Client,
    pub name: String,
    pub book: Book,
    random: Random,
    /// Charges that are authorised only, and those that are captured, with their amounts.
    authorised: Vec<String>,
    captured: Vec<(String, i64)>,
}

impl Payer {
    pub fn new(client: Client, name: &str, seed: u64) -> Self {
        let (random, name) = (Random(seed), name.to_owned());
        Self { client, name, book: Book::default(), random, authorised: Vec::new(), captured: Vec::new() }
    }

    /// Sends requests until this time of the machine.
    pub async fn pay_until(mut self, end: Duration) -> Self {
        while simulated_machine::now() < end {
            self.pay().await;
            let pause = self.random.below(1_500);
            sleep(Duration::from_millis(pause)).await;
        }
        self
    }

    async fn change(&mut self, method: Method, path: &str, body: Value) -> Answer {
        let key = format!("{}-{}", self.name, self.book.acknowledged.len());
        let answer = self.client.insist(method.clone(), path, Some(&key), &body).await;
        let known = AcknowledgedRequest { key, method, path: path.into(), body, answer: answer.clone() };
        self.book.acknowledged.push(known);
        answer
    }

    async fn pay(&mut self) {
        match self.random.below(12) {
            0..=4 => self.charge(true).await,
            5..=6 => self.charge(false).await,
            7 if !self.authorised.is_empty() => self.follow("capture").await,
            8 if !self.authorised.is_empty() => self.follow("void").await,
            9 if !self.captured.is_empty() => self.refund().await,
            10 => self.repeat().await,
            _ => self.customer().await,
        }
    }

    async fn charge(&mut self, captures: bool) {
        let amount = 1_000 + 100 * i64::try_from(self.random.below(50)).unwrap();
        let is_declined = self.random.below(5) == 0;
        let number = if is_declined { "4100000000000001" } else { "4200000000000000" };
        let body = json!({
            "email": "roland@example.com", "description": "simulated", "amount": amount, "ip_address": "203.192.1.172",
            "capture": captures, "card": card(number),
        });
        let answer = self.change(Method::POST, "/1/charges", body).await;
        if is_declined {
            assert_eq!(answer.status, 400, "{}", answer.text);
            assert_eq!(answer.json()["error"], "card_declined");
            return;
        }
        assert_eq!(answer.status, 201, "{}", answer.text);
        let charge = answer.record();
        assert_eq!((&charge["amount"], &charge["captured"]), (&json!(amount), &json!(captures)), "{charge}");
        let token = token(&charge);
        if captures {
            self.captured.push((token.clone(), amount));
        } else {
            self.authorised.push(token.clone());
        }
        let known = self.book.charges.insert(token, charge);
        assert!(known.is_none(), "two keys have one charge: {known:?}");
    }

    async fn follow(&mut self, action: &str) {
        let n = usize::try_from(self.random.below(self.authorised.len() as u64)).unwrap();
        let token = self.authorised.swap_remove(n);
        let answer = self.change(Method::PUT, &format!("/1/charges/{token}/{action}"), json!({})).await;
        assert_eq!(answer.status, 200, "{action}: {}", answer.text);
        let charge = answer.record();
        if action == "capture" {
            assert_eq!(charge["captured"], true, "{charge}");
            self.captured.push((token.clone(), charge["amount"].as_i64().unwrap()));
        } else {
            assert_eq!(charge["authorisation_voided"], true, "{charge}");
        }
        self.book.charges.insert(token, charge);
    }

    async fn refund(&mut self) {
        let n = usize::try_from(self.random.below(self.captured.len() as u64)).unwrap();
        let left = self.captured[n].1;
        let amount = if self.random.below(2) == 0 { left } else { left / 2 };
        // The fees of its charges are gone, so not all of them can be refunded.
        if amount > self.book.balance() {
            return;
        }
        let (token, _) = self.captured.swap_remove(n);
        let answer = self
            .change(Method::POST, &format!("/1/charges/{token}/refunds"), json!({ "amount": amount }))
            .await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        let refund = answer.record();
        *self.book.refunded.entry(token).or_default() += amount;
        self.book.refunds.insert(self::token(&refund), refund);
    }

    async fn customer(&mut self) {
        let email = format!("{}-{}@example.com", self.name, self.book.acknowledged.len());
        let body = json!({ "email": email, "card": card("4200000000000000") });
        let answer = self.change(Method::POST, "/1/customers", body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        self.book.customers.insert(token(&answer.record()), answer.record());
    }

    /// Repeats a request whose outcome is known: its answer is the same.
    async fn repeat(&mut self) {
        if self.book.acknowledged.is_empty() {
            return;
        }
        let n = usize::try_from(self.random.below(self.book.acknowledged.len() as u64)).unwrap();
        let known = self.book.acknowledged[n].clone();
        known.is_repeated(&self.client).await;
    }
}

impl AcknowledgedRequest {
    /// Checks that the same request is answered alike.
    pub async fn is_repeated(&self, client: &Client) {
        let again = client.insist(self.method.clone(), &self.path, Some(&self.key), &self.body).await;
        assert_eq!(
            (again.status, &again.text),
            (self.answer.status, &self.answer.text),
            "a replay of {}",
            self.key
        );
        assert!(again.is_replayed, "{} had an effect again", self.key);
    }
}

/// Returns the token of a record.
pub fn token(record: &Value) -> String {
    record["token"].as_str().unwrap_or_else(|| panic!("no token: {record}")).to_owned()
}

pub fn card(number: &str) -> Value {
    json!({
        "number": number, "expiry_month": 5, "expiry_year": 2030, "cvc": "123", "name": "Roland Robot",
        "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "Australia",
    })
}
