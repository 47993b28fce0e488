//! Disputes: how they arrive, what the network decides, and what it costs.

use chrono::{Days, NaiveTime};
use http::Method;
use serde_json::{Value, json};

use super::charges::State;
use super::wire::Time;
use super::world::{World, below, expect_record, fault, faulty, one_in, pick, shown};
use crate::harness::random::Random;
use crate::money::dispute_rules::{CHARGEBACK_FEE, FORGIVEN, STATUSES, follows};

pub struct Dispute {
    token: Value,
    pub charge: usize,
    amount: i64,
    status: &'static str,
    received: Time,
    pub required_by: Time,
    /// Whether the cardholder has the money.
    taken: bool,
    evidence: Value,
}

impl Dispute {
    pub fn is_active(&self) -> bool {
        ["evidence_required", "evidence_under_review", "arbitration_under_review"].contains(&self.status)
    }

    pub fn is_forgiven(&self) -> bool {
        FORGIVEN.contains(&self.status)
    }

    pub fn waits(&self) -> bool {
        self.status == "evidence_required"
    }

    fn path(&self) -> String {
        format!("/1/disputes/{}", self.token.as_str().unwrap())
    }
}

const RELEVANT: [&str; 7] = [
    "proof_of_delivery_or_service",
    "invoice_or_receipt",
    "invoice_showing_distinct_transactions",
    "customer_communication",
    "refund_or_cancellation_policy",
    "recurring_transaction_agreement",
    "additional_evidence",
];

impl World {
    pub fn dispute(&self, dispute: &Dispute) -> Value {
        json!({
            "token": dispute.token, "category": "general", "status": dispute.status, "amount": dispute.amount,
            "currency": self.charges[dispute.charge].currency.0, "charge": self.charge(dispute.charge),
            "evidence_required_by": shown(dispute.required_by), "relevant_evidence": RELEVANT,
            "received_at": shown(dispute.received),
        })
    }

    /// What of a charge is neither refunded nor disputed.
    fn disputable(&self, charge: usize) -> i64 {
        let disputed: i64 = self.disputes.iter().filter(|it| it.charge == charge).map(|it| it.amount).sum();
        self.charges[charge].amount - self.refunded(charge).0 - disputed
    }

    pub async fn disputes(&mut self, random: &mut Random) {
        let aud: Vec<_> =
            (0..self.charges.len()).filter(|it| self.charges[*it].currency.0 == "AUD").collect();
        let Some(charge) = pick(random, aud.len()).map(|n| aud[n]) else { return };
        let left = self.disputable(charge);
        let amount = match random.below(4) {
            0 => None,
            1 => Some(left.max(0) + 1),
            _ => Some(1 + i64::try_from(random.below(left.max(1).unsigned_abs())).unwrap()),
        };
        let mut request = json!({ "charge_token": self.charges[charge].token });
        if let Some(amount) = amount {
            request["amount"] = amount.into();
        }
        let answer = self.wire.change(random, Method::POST, "/1/sandbox/disputes", &[], &request).await;
        if self.charges[charge].state != State::Captured {
            assert_eq!(answer.faults()[0].0, "charge_token", "{}", answer.text);
            return;
        }
        if left <= 0 {
            return faulty(&answer, &fault("charge_token", "Charge token has nothing left to dispute"));
        }
        let amount = amount.unwrap_or(left);
        if amount > left {
            return faulty(&answer, &fault("amount", &format!("Amount must be at most {left}")));
        }
        let day = self.today() + Days::new(20);
        self.disputes.push(Dispute {
            token: "?dis_".into(),
            charge,
            amount,
            status: "evidence_required",
            received: self.now,
            required_by: day.and_time(NaiveTime::MIN).and_utc(),
            taken: true,
            evidence: json!({}),
        });
        self.moves(-amount);
        self.moves(-CHARGEBACK_FEE);
        let n = self.disputes.len() - 1;
        let record = expect_record(&answer, 201, self.dispute(&self.disputes[n]));
        self.disputes[n].token = record["token"].clone();
        self.happens("dispute.evidence_required", record);
    }

    /// Moves the dispute to another status, and its money to the party that owns it in that status.
    fn becomes(&mut self, n: usize, status: &'static str) {
        let dispute = &mut self.disputes[n];
        dispute.status = status;
        let taken = match status {
            "evidence_under_review" | "arbitration_under_review" => dispute.taken,
            other => !FORGIVEN.contains(&other),
        };
        let sign = i64::from(dispute.taken) - i64::from(taken);
        let amount = dispute.amount;
        dispute.taken = taken;
        if sign != 0 {
            self.moves(sign * amount);
            self.moves(sign * CHARGEBACK_FEE);
        }
        let events_checked =
            EVENTS.iter().find(|event| event.strip_prefix("dispute.") == Some(status)).unwrap();
        self.happens(events_checked, self.dispute(&self.disputes[n]));
    }

    pub fn dispute_expires(&mut self, n: usize) {
        self.becomes(n, "expired");
    }

    /// Why evidence is not taken any more.
    fn closed(&self, n: usize) -> Option<&'static str> {
        match self.disputes[n].status {
            "evidence_required" => None,
            "evidence_under_review" | "arbitration_under_review" => Some("dispute_already_under_review"),
            "cancelled" => Some("dispute_already_cancelled"),
            _ => Some("dispute_already_resolved"),
        }
    }

    pub async fn follows_dispute(&mut self, random: &mut Random) {
        let Some(n) = pick(random, self.disputes.len()) else { return };
        let (path, closed) = (self.disputes[n].path(), self.closed(n));
        match random.below(9) {
            0 => {
                expect_record(&self.wire.get(&path).await, 200, self.dispute(&self.disputes[n]));
                expect_record(
                    &self.wire.get(&format!("{path}/evidence")).await,
                    200,
                    self.disputes[n].evidence.clone(),
                );
            }
            1..=2 => {
                let field = format!("{}_text", RELEVANT[below(random, 7)]);
                let text = ["it was delivered", "", &"x".repeat(501)][below(random, 3)].to_owned();
                let body = json!({ (field.clone()): text });
                let answer =
                    self.wire.change(random, Method::PUT, &format!("{path}/evidence"), &[], &body).await;
                if text.len() > 500 {
                    let faults = answer.faults();
                    assert_eq!(faults.len(), 1, "{}", answer.text);
                    return assert_eq!(faults[0].0, field);
                }
                if let Some(code) = closed {
                    answer.refused(400, code);
                    return;
                }
                let batch = self.disputes[n].evidence.as_object_mut().unwrap();
                if text.is_empty() {
                    batch.remove(&field);
                } else {
                    batch.insert(field, text.into());
                }
                expect_record(&answer, 200, self.disputes[n].evidence.clone());
            }
            3 => {
                let answer = self
                    .wire
                    .change(random, Method::POST, &format!("{path}/evidence"), &[], &json!({}))
                    .await;
                if let Some(code) = closed {
                    answer.refused(400, code);
                    return;
                }
                assert_eq!((answer.status, answer.text.as_str()), (200, ""));
                self.becomes(n, "evidence_under_review");
            }
            4 => {
                let answer =
                    self.wire.change(random, Method::POST, &format!("{path}/accept"), &[], &json!({})).await;
                if let Some(code) = closed {
                    answer.refused(400, code);
                    return;
                }
                self.becomes(n, "accepted");
                expect_record(&answer, 200, self.dispute(&self.disputes[n]));
            }
            _ => self.decides(random, n).await,
        }
    }

    async fn decides(&mut self, random: &mut Random, n: usize) {
        let from = self.disputes[n].status;
        let legal: Vec<_> = STATUSES.into_iter().filter(|to| follows(from, to)).collect();
        let to = match pick(random, legal.len()).filter(|_| !one_in(random, 4)) {
            Some(legal_one) => legal[legal_one],
            None => STATUSES[below(random, STATUSES.len())],
        };
        let path = format!("/1/sandbox/disputes/{}", self.disputes[n].token.as_str().unwrap());
        let answer = self.wire.change(random, Method::PUT, &path, &[], &json!({ "status": to })).await;
        // A dispute that was won goes to arbitration about what is left, if anything is.
        let charge = self.disputes[n].charge;
        let standing = self.disputes.iter().filter(|it| it.charge == charge && !it.is_forgiven());
        let claimed: i64 = standing.map(|it| it.amount).sum::<i64>() + self.refunded(charge).0;
        let left = self.charges[charge].amount - claimed;
        if !follows(from, to) || from == "won" && left <= 0 {
            answer.refused(400, "invalid_state");
            return;
        }
        if from == "won" {
            self.disputes[n].amount = self.disputes[n].amount.min(left);
        }
        self.becomes(n, to);
        expect_record(&answer, 200, self.dispute(&self.disputes[n]));
    }
}

const EVENTS: [&str; 10] = [
    "dispute.evidence_under_review",
    "dispute.accepted",
    "dispute.expired",
    "dispute.cancelled",
    "dispute.resolved",
    "dispute.won",
    "dispute.lost",
    "dispute.arbitration_under_review",
    "dispute.arbitration_won",
    "dispute.arbitration_lost",
];
