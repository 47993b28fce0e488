//! Money out: bank accounts, recipients, transfers; and the deposits that bring some.

use chrono::{Duration, Months};
use http::Method;
use serde_json::{Value, json};

use super::wire::Time;
use super::world::{
    World, are, below, expect_record, fault, faulty, is_refused, newest, one_in, pick, shown,
};
use crate::harness::random::Random;

pub struct Recipient {
    pub shown: Value,
    /// Whether its bank sends everything back.
    returns: bool,
}

pub struct Transfer {
    pub shown: Value,
    /// When it comes back.
    pub returns: Option<Time>,
    to: Option<usize>,
}

impl Transfer {
    pub fn settlement(shown: Value) -> Self {
        Self { shown, returns: None, to: None }
    }

    pub fn is_settlement(&self) -> bool {
        self.shown["description"] == "Settlement"
    }
}

pub struct Deposit {
    token: Value,
    pub amount: i64,
    narration: &'static str,
    pub at: Time,
}

impl Deposit {
    pub fn shown(&self) -> Value {
        json!({
            "token": self.token, "amount": self.amount.to_string(), "currency": "AUD", "narration": self.narration,
            "available_at": shown(self.at),
        })
    }
}

/// The fee of a transfer to a recipient.
const FEE: i64 = 30;

/// A bank account as it is sent, as it is shown, and whether it sends everything back.
fn some_account(random: &mut Random) -> (Value, Value, bool) {
    let (bsb, bank, branch) = [
        ("736032", "Westpac Banking Corporation", "Perth"),
        ("806015", "Cuscal Limited", "Perth"),
        ("999001", "", ""),
    ][below(random, 3)];
    let (number, mask) = [("987654321", "XXXXXX321"), ("123999", "XXX999"), ("007", "007")][below(random, 3)];
    let sent = json!({ "name": "Pay Ee", "bsb": bsb, "number": number });
    let shown = json!({
        "token": "?ba_", "name": "Pay Ee", "bsb": bsb, "number": mask, "bank_name": bank, "branch": branch,
    });
    (sent, shown, number == "123999")
}

/// The account's own, whose token is not known yet.
pub fn own_account() -> Value {
    json!({
        "token": "?ba_", "name": "Sandbox", "bsb": "806015", "number": "XXXXXX321", "bank_name": "Cuscal Limited",
        "branch": "Perth",
    })
}

impl World {
    /// What a fresh account has: a deposit.
    pub async fn opens(&mut self) {
        let opening = Deposit {
            token: "?dpo_".into(),
            amount: 100_000_000,
            narration: "Opening balance",
            at: self.now,
        };
        let found = self.wire.get("/1/deposits").await.ok(200);
        let record = expect_record(
            &self.wire.get(&format!("/1/deposits/{}", found[0]["token"].as_str().unwrap())).await,
            200,
            opening.shown(),
        );
        self.deposits.push(Deposit { token: record["token"].clone(), ..opening });
    }

    /// A bank account's token, or a recipient, new or changed.
    pub async fn adds_recipient(&mut self, random: &mut Random) {
        let (account, shows, returns) = some_account(random);
        if one_in(random, 5) {
            let answer = self.wire.change(random, Method::POST, "/1/bank_accounts", &[], &account).await;
            let record = expect_record(&answer, 201, shows);
            return self.bank_accounts.push((record, self.now, false));
        }
        let (mut parameters, mut faults, mut by_token) = (json!({}), Vec::new(), None);
        let changed = pick(random, self.recipients.len()).filter(|_| one_in(random, 3));
        if changed.is_none() || one_in(random, 2) {
            parameters["email"] = format!("payee{}@example.com", random.below(3)).into();
        }
        if one_in(random, 2) {
            parameters["name"] = ["Mr Pay Ee", ""][below(random, 2)].into();
        }
        match pick(random, self.bank_accounts.len()).filter(|_| one_in(random, 2)) {
            Some(n) => {
                let (record, made, used) = &self.bank_accounts[n];
                parameters["bank_account_token"] = record["token"].clone();
                by_token = Some(n);
                let held = |payee: &Recipient| payee.shown["bank_account"]["token"] == record["token"];
                if changed.is_some_and(|n| held(&self.recipients[n])) {
                    // The one that it has.
                } else if *used && self.recipients.iter().any(held) {
                    faults = fault("bank_account_token", "Bank account token has already been used");
                } else if *used || self.now >= *made + Months::new(1) {
                    // Of one that its recipient has given up, nothing is known any more.
                    faults = fault("bank_account_token", "Bank account token is not valid");
                }
            }
            None if changed.is_none() || one_in(random, 2) => {
                parameters["bank_account"] = account;
                if one_in(random, 10) {
                    parameters["bank_account"]["bsb"] = "123456".into();
                    faults = fault("bank_account", "Bank account is invalid");
                }
            }
            None => {}
        }
        let path = changed.map_or("/1/recipients".to_owned(), |n| self.recipients[n].path());
        let method = if changed.is_some() { Method::PUT } else { Method::POST };
        let answer = self.wire.change(random, method, &path, &[], &parameters).await;
        if !faults.is_empty() {
            return faulty(&answer, &faults);
        }
        let mut recipient = match changed {
            Some(n) => {
                Recipient { shown: self.recipients[n].shown.clone(), returns: self.recipients[n].returns }
            }
            None => Recipient {
                shown: json!({
                    "token": "?rp_", "name": null, "email": null, "created_at": shown(self.now), "bank_account": null,
                }),
                returns,
            },
        };
        for field in ["email", "name"] {
            if let Some(value) = parameters.get(field) {
                recipient.shown[field] = value.clone();
            }
        }
        if let Some(n) = by_token {
            self.bank_accounts[n].2 = true;
            recipient.shown["bank_account"] = self.bank_accounts[n].0.clone();
            recipient.returns = self.bank_accounts[n].0["number"] == "XXX999";
        } else if parameters.get("bank_account").is_some() {
            recipient.shown["bank_account"] = shows;
            recipient.returns = returns;
        }
        let status = if changed.is_some() { 200 } else { 201 };
        recipient.shown = expect_record(&answer, status, recipient.shown);
        let events_checked = recipient.shown.clone();
        match changed {
            Some(n) => self.recipients[n] = recipient,
            None => self.recipients.push(recipient),
        }
        self.happens(
            if changed.is_some() { "recipient.updated" } else { "recipient.created" },
            events_checked,
        );
    }

    pub async fn transfers(&mut self, random: &mut Random) {
        let to = pick(random, self.recipients.len()).filter(|_| !one_in(random, 3));
        let available = self.available();
        let amount = match random.below(6) {
            0 => 0,
            1 => available + 1,
            2 => available - FEE,
            _ => i64::try_from(random.below(50_000)).unwrap(),
        };
        let token = to.map_or(json!("self"), |n| self.recipients[n].shown["token"].clone());
        let mut request =
            json!({ "description": "wages", "amount": amount, "currency": "aud", "recipient": token });
        let mut faults = if amount < 0 {
            fault("amount", "Amount must be greater than or equal to 0")
        } else {
            Vec::new()
        };
        if one_in(random, 12) {
            request["recipient"] = "rp_AZqYv3rVcBKUQ1mHn7tKRw".into();
            faults.extend(fault("recipient", "Recipient is not valid"));
        }
        let answer = self.wire.change(random, Method::POST, "/1/transfers", &[], &request).await;
        if !faults.is_empty() {
            return faulty(&answer, &faults);
        }
        let cost = amount + if to.is_some() { FEE } else { 0 };
        if cost > available {
            return is_refused(&answer, 402, "insufficient_service_balance");
        }
        let account = to.map_or_else(own_account, |n| self.recipients[n].shown["bank_account"].clone());
        let expected = json!({
            "token": "?tfer_", "status": "succeeded", "currency": "AUD", "description": "wages", "amount": amount,
            "total_debits": 0, "total_credits": amount, "created_at": shown(self.now), "paid_at": shown(self.now),
            "reference": "Sandbox", "line_items_count": 1, "bank_account": account,
            "recipient": to.map(|n| self.recipients[n].shown["token"].clone()),
        });
        let shown = expect_record(&answer, 201, expected);
        let returns = to.filter(|n| self.recipients[*n].returns).map(|_| self.now + Duration::days(1));
        self.moves(-amount);
        if to.is_some() {
            self.moves(-FEE);
        }
        self.transfers.push(Transfer { shown: shown.clone(), returns, to });
        self.happens("transfer.created", shown);
    }

    pub fn transfer_returns(&mut self, n: usize) {
        self.transfers[n].returns = None;
        self.transfers[n].shown["status"] = "failed".into();
        self.moves(self.transfers[n].shown["amount"].as_i64().unwrap());
        self.moves(FEE);
        self.happens("transfer.failed", self.transfers[n].shown.clone());
    }

    pub async fn deposits(&mut self, random: &mut Random) {
        let amount = 1 + i64::try_from(random.below(10_000)).unwrap();
        let at = self.now + Duration::hours([0, 5, 50][below(random, 3)]);
        let request = json!({ "amount": amount, "available_at": shown(at) });
        let answer = self.wire.change(random, Method::POST, "/1/sandbox/deposits", &[], &request).await;
        let deposit = Deposit { token: "?dpo_".into(), amount, narration: "Deposit", at };
        let record = expect_record(&answer, 201, deposit.shown());
        self.deposits.push(Deposit { token: record["token"].clone(), ..deposit });
        self.happens("deposit.created", record);
    }

    /// Some list that lies below a record.
    pub async fn looks_at_nested(&mut self, random: &mut Random) {
        match random.below(6) {
            0 => self.looks_at_lines(random).await,
            1 => {
                if let Some(customer) = pick(random, self.customers.len()) {
                    self.looks_at_customer(customer).await;
                }
            }
            2 => {
                if let Some(charge) = pick(random, self.charges.len()) {
                    self.looks_at_refunds(charge).await;
                }
            }
            3 => {
                if let Some(plan) = pick(random, self.plans.len()) {
                    self.looks_at_plan(plan).await;
                }
            }
            _ => {
                if let Some(recipient) = pick(random, self.recipients.len()) {
                    self.looks_at_recipient(recipient).await;
                }
            }
        }
    }

    async fn looks_at_recipient(&mut self, recipient: usize) {
        let path = self.recipients[recipient].path();
        expect_record(&self.wire.get(&path).await, 200, self.recipients[recipient].shown.clone());
        let expected = newest(self.transfers.iter().filter(|it| it.to == Some(recipient)), |it| {
            let mut shown = it.shown.clone();
            shown.as_object_mut().unwrap().remove("line_items_count");
            shown
        });
        are("transfers", &self.wire.all(&format!("{path}/transfers"), 2, true).await, &expected);
    }
}

impl Recipient {
    fn path(&self) -> String {
        format!("/1/recipients/{}", self.shown["token"].as_str().unwrap())
    }
}
