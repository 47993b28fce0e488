//! Refunds: what is asked back, and what comes of it.

use http::Method;
use serde_json::{Value, json};

use super::cards::NumberOutcome;
use super::charges::State;
use super::wire::Time;
use super::world::{World, expect_record, fault, faulty, is_refused, newest, one_in, pick, shown};
use crate::harness::random::Random;

pub struct Refund {
    pub token: Value,
    pub charge: usize,
    pub amount: i64,
    /// What the merchant gives for it, in AUD cents.
    settled: i64,
    pub success: Option<bool>,
    pub made: Time,
}

const DECLINED: &str = "The refund was declined";

impl World {
    pub fn refund(&self, refund: &Refund) -> Value {
        let (error, message) = match refund.success {
            None => (None, "Pending"),
            Some(true) => (None, "Success"),
            Some(false) => (Some(DECLINED), DECLINED),
        };
        json!({
            "token": refund.token, "success": refund.success, "amount": refund.amount,
            "currency": self.charges[refund.charge].currency.0, "charge": self.charges[refund.charge].token,
            "created_at": shown(refund.made), "error_message": error, "status_message": message,
        })
    }

    /// What was refunded of a charge, and what that cost, as far as it has not failed.
    pub fn refunded(&self, charge: usize) -> (i64, i64) {
        let stands = self.refunds.iter().filter(|it| it.charge == charge && it.success != Some(false));
        stands.fold((0, 0), |(amount, settled), it| (amount + it.amount, settled + it.settled))
    }

    pub async fn refunds(&mut self, random: &mut Random) {
        let captured: Vec<_> =
            (0..self.charges.len()).filter(|it| self.charges[*it].state == State::Captured).collect();
        let any = one_in(random, 8);
        let picked = pick(random, if any { self.charges.len() } else { captured.len() });
        let Some(charge) = picked.map(|n| if any { n } else { captured[n] }) else { return };
        let it = &self.charges[charge];
        let (refunded, settled) = self.refunded(charge);
        let left = it.amount - refunded;
        let (body, amount, faults) = match random.below(9) {
            0 => (json!({ "amount": 0 }), 0, fault("amount", "Amount must be greater than or equal to 1")),
            1 => (json!({ "amount": "x" }), 0, fault("amount", "Amount is not a number")),
            2 => (
                json!({ "amount": "" }),
                0,
                [fault("amount", "Amount can't be blank"), fault("amount", "Amount is not a number")]
                    .concat(),
            ),
            3 => (json!({}), it.amount, Vec::new()),
            4 => (json!({ "amount": left + 1 }), left + 1, Vec::new()),
            5 if left > 0 => (json!({ "amount": left }), left, Vec::new()),
            _ => {
                let part = 1 + i64::try_from(random.below(it.amount.unsigned_abs())).unwrap() / 3;
                (json!({ "amount": part.to_string() }), part, Vec::new())
            }
        };
        let path = format!("{}/refunds", it.path());
        let answer = self.wire.change(random, Method::POST, &path, &[], &body).await;
        let it = &self.charges[charge];
        if !faults.is_empty() {
            return faulty(&answer, &faults);
        }
        if it.state != State::Captured {
            return faulty(&answer, &fault("charge", "Charge has not been captured"));
        }
        if self.disputes.iter().any(|dispute| dispute.charge == charge && !dispute.is_forgiven()) {
            return faulty(&answer, &fault("charge", "Charge is disputed"));
        }
        if amount > left {
            let over = fault("amount", "You have tried to refund more than the original charge");
            return faulty(&answer, &over);
        }
        // The last refund takes exactly what is left.
        let rest = it.settlement() - settled;
        let costs = if amount == left { rest } else { it.currency.settles(amount).min(rest) };
        if costs > 0 && costs > self.available() + self.pending() - self.on_their_way() {
            return is_refused(&answer, 402, "insufficient_service_balance");
        }
        self.moves(-costs);
        let refund =
            Refund { token: "?rf_".into(), charge, amount, settled: costs, success: None, made: self.now };
        let record = expect_record(&answer, 201, self.refund(&refund));
        self.refunds.push(Refund { token: record["token"].clone(), ..refund });
        self.happens("refund.created", record);
    }

    /// What comes of a refund.
    pub fn refund_ends(&mut self, refund: usize, success: bool) {
        self.refunds[refund].success = Some(success);
        if !success {
            self.moves(self.refunds[refund].settled);
        }
        let record = self.refund(&self.refunds[refund]);
        self.happens(if success { "refund.succeeded" } else { "refund.failed" }, record);
    }

    /// What the acquirer has announced comes about.
    pub fn refund_is_due(&mut self, refund: usize) {
        let fails = self.charges[self.refunds[refund].charge].number.ends == NumberOutcome::RefundsFail;
        self.refund_ends(refund, !fails);
    }

    pub async fn decides_refund(&mut self, random: &mut Random) {
        let Some(refund) = pick(random, self.refunds.len()) else { return };
        let success = one_in(random, 2);
        let path = format!("/1/sandbox/refunds/{}", self.refunds[refund].token.as_str().unwrap());
        let body = json!({ "outcome": if success { "succeeded" } else { "failed" } });
        let answer = self.wire.change(random, Method::PUT, &path, &[], &body).await;
        if self.refunds[refund].success.is_some() {
            answer.refused(400, "invalid_state");
            return;
        }
        self.refund_ends(refund, success);
        expect_record(&answer, 200, self.refund(&self.refunds[refund]));
    }

    /// The refunds of a charge.
    pub async fn looks_at_refunds(&mut self, charge: usize) {
        let path = format!("{}/refunds", self.charges[charge].path());
        let expected = newest(self.refunds.iter().filter(|it| it.charge == charge), |it| self.refund(it));
        super::world::are("refunds", &self.wire.all(&path, 2, true).await, &expected);
    }
}
