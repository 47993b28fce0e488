//! Subscriptions. What is billed when is the course of [`crate::billing::course`]; here is who pays, what is
//! shown and what is told of it.

use http::Method;
use serde_json::{Value, json};

use super::cards::CardState;
use super::charges::Charge;
use super::payments::{AUD, Payer, PaymentRequest, Verdict};
use super::wire::Time;
use super::world::{TokenSource, World, are, expect_record, newest, one_in, pick, shown};
use crate::billing::course::{self, State as Course};
use crate::harness::random::Random;
use crate::harness::with;

pub struct Subscription {
    pub token: Value,
    pub plan: usize,
    pub customer: usize,
    /// The card that it names.
    pub card: Option<usize>,
    created: Time,
    pub course: course::Subscription,
}

impl Subscription {
    /// When it is billed or ends, and which.
    pub fn due(&self) -> Option<(Time, bool)> {
        self.course.due().map(|at| (at, self.course.next_bill.is_some()))
    }

    fn path(&self) -> String {
        format!("/1/subscriptions/{}", self.token.as_str().unwrap())
    }
}

/// A state as the API spells it.
fn word(state: Course) -> String {
    format!("{state:?}").to_lowercase()
}

impl World {
    pub fn subscription(&self, it: &Subscription) -> Value {
        json!({
            "token": it.token, "state": word(it.course.state),
            "next_billing_date": it.course.next_bill.map(shown),
            "active_interval_started_at": shown(it.course.interval.0),
            "active_interval_finishes_at": shown(it.course.interval.1),
            "cancelled_at": it.course.cancelled_at.map(shown), "created_at": shown(it.created),
            "plan_token": self.plans[it.plan].token, "customer_token": self.customers[it.customer].token,
            "card_token": it.card.map(|card| self.card_token(card)),
        })
    }

    pub fn listed_subscriptions(&self, which: impl Fn(&Subscription) -> bool) -> Vec<Value> {
        let listed = self.subscriptions.iter().filter(|it| self.plans[it.plan].is_there && which(it));
        newest(listed, |it| self.subscription(it))
    }

    /// The card that a subscription is charged to.
    fn card_of(&self, customer: usize, named: Option<usize>) -> Option<usize> {
        self.customers[customer].is_there.then(|| named.unwrap_or(self.customers[customer].primary))
    }

    fn verdict_of(&self, customer: usize, named: Option<usize>) -> Option<Verdict> {
        self.card_of(customer, named).map(|card| Verdict::new(self.cards[card].number, self.now))
    }

    /// A subscription's charge, of now; its token is known once its event is.
    fn bills_charge(&mut self, plan: usize, customer: usize, named: Option<usize>, amount: i64) -> usize {
        let card = self.card_of(customer, named).unwrap();
        let parameters = json!({
            "description": self.plans[plan].name, "email": self.customers[customer].email(),
            "ip_address": "127.0.0.1",
        });
        let request =
            PaymentRequest { parameters, amount, currency: AUD, faults: Vec::new(), platform: None };
        let payer = Payer::customer(self, customer, card);
        let mut charge = Charge::new(self, &payer, &request);
        charge.error = Verdict::new(payer.number, self.now).message();
        let approved = charge.error.is_none();
        self.charges.push(charge);
        let charge = self.charges.len() - 1;
        if approved {
            self.is_captured(charge);
        }
        let kind = if approved { "charge.captured" } else { "charge.failed" };
        self.happens_of(kind, self.charge(charge), Some(TokenSource::Charge(charge)));
        charge
    }

    pub async fn subscribes(&mut self, random: &mut Random) {
        let Some(customer) = self.some_customer(random) else { return };
        let Some(plan) = pick(random, self.plans.len()) else { return };
        let below_plan = one_in(random, 2);
        let include_setup = !one_in(random, 3);
        let mut parameters = json!({ "customer_token": self.customers[customer].token });
        if !include_setup || one_in(random, 2) {
            parameters["include_setup_fee"] = include_setup.into();
        }
        let mut card = None;
        let mut foreign = false;
        if one_in(random, 3)
            && let Some(some) = pick(random, self.cards.len())
        {
            parameters["card_token"] = self.card_token(some);
            foreign = self.cards[some].state != CardState::Owned(customer);
            card = Some(some);
        }
        let path = if below_plan {
            format!("{}/subscriptions", self.plans[plan].path())
        } else {
            parameters["plan_token"] = self.plans[plan].token.clone();
            "/1/subscriptions".to_owned()
        };
        let missing = one_in(random, 20);
        if missing {
            parameters["customer_token"] = "".into();
        }
        let answer = self.wire.change(random, Method::POST, &path, &[], &parameters).await;
        let code = if below_plan { "not_found" } else { "resource_not_found" };
        if below_plan && !self.plans[plan].is_there {
            answer.refused(404, code);
            return;
        }
        if missing {
            let messages = answer.refused(400, "invalid_resource")["messages"].clone();
            assert_eq!(messages, json!([{ "param": "customer_token", "message": "must be present" }]));
            return;
        }
        if !self.plans[plan].is_there || !self.customers[customer].is_there {
            answer.refused(404, code);
            return;
        }
        if foreign {
            answer.refused(400, "invalid_request");
            return;
        }
        let verdict = self.verdict_of(customer, card).unwrap();
        let accepted = verdict == Verdict::Approved;
        let course = &self.plans[plan].course;
        let Some(course) = course::Subscription::new(course, accepted, include_setup, self.now) else {
            let amount = if course.trial.0 > 0 {
                course.trial_amount
            } else {
                course.amount + if include_setup { course.setup } else { 0 }
            };
            let charge = self.bills_charge(plan, customer, card, amount);
            let token = verdict.refuses(&answer, "charge_token");
            self.check_events().await;
            assert_eq!(self.charges[charge].token, token);
            return;
        };
        if let Some((_, _, amount)) = course.ledger.first().copied() {
            self.bills_charge(plan, customer, card, amount);
        }
        let it = Subscription { token: "?sub_".into(), plan, customer, card, created: self.now, course };
        self.subscriptions.push(it);
        let subscription = self.subscriptions.len() - 1;
        let expected = self.subscription(&self.subscriptions[subscription]);
        let record = expect_record(&answer, if below_plan { 200 } else { 201 }, expected);
        self.subscriptions[subscription].token = record["token"].clone();
        self.happens("subscription.created", record);
        self.check_events().await;
    }

    pub async fn changes_subscription(&mut self, random: &mut Random) {
        let Some(n) = pick(random, self.subscriptions.len()) else { return };
        let it = &self.subscriptions[n];
        let (path, there) = (it.path(), self.plans[it.plan].is_there);
        match random.below(7) {
            0 => {
                let answer = self.wire.change(random, Method::DELETE, &path, &[], &Value::Null).await;
                if !there {
                    return answer.not_found();
                }
                if self.subscriptions[n].course.cancels(self.now) != 200 {
                    answer.refused(400, "invalid_state");
                    return;
                }
                let record = expect_record(&answer, 200, self.subscription(&self.subscriptions[n]));
                self.happens("subscription.cancelled", record);
            }
            // A worker ends it at any moment from now on.
            1 if self.has_workers && it.course.interval.1 <= self.now => {}
            1 => {
                let path = format!("/1/sandbox/subscriptions/{}/unsubscribe", it.token.as_str().unwrap());
                let answer = self.wire.change(random, Method::PUT, &path, &[], &json!({})).await;
                if !there {
                    return answer.not_found();
                }
                let may = self.plans[self.subscriptions[n].plan].permissions != json!([]);
                if !may || self.subscriptions[n].course.unsubscribes() != 200 {
                    answer.refused(400, "invalid_state");
                    return;
                }
                let record = expect_record(&answer, 200, self.subscription(&self.subscriptions[n]));
                self.happens("subscription.unsubscribed", record);
            }
            2..=3 => self.reactivates(random, n, &path).await,
            4 => {
                let own = self.cards_of(it.customer);
                let card = pick(random, own.len()).map(|card| own[card]).filter(|_| !one_in(random, 3));
                let body = json!({ "card_token": card.map(|card| self.card_token(card)) });
                let answer = self.wire.change(random, Method::PUT, &path, &[], &body).await;
                if !there {
                    answer.refused(404, "resource_not_found");
                    return;
                }
                self.subscriptions[n].card = card;
                expect_record(&answer, 200, self.subscription(&self.subscriptions[n]));
            }
            5 => {
                let answer = self.wire.change(random, Method::PUT, &path, &[], &json!({})).await;
                let (status, code) =
                    if there { (400, "invalid_resource") } else { (404, "resource_not_found") };
                answer.refused(status, code);
            }
            _ => self.looks_at_ledger(n).await,
        }
    }

    async fn reactivates(&mut self, random: &mut Random, n: usize, path: &str) {
        let include_setup = !one_in(random, 3);
        let body = json!({ "include_setup_fee": include_setup });
        let answer = self.wire.change(random, Method::PUT, &format!("{path}/reactivate"), &[], &body).await;
        let (plan, customer, card) =
            (self.subscriptions[n].plan, self.subscriptions[n].customer, self.subscriptions[n].card);
        if !self.plans[plan].is_there {
            return answer.not_found();
        }
        let verdict = self.verdict_of(customer, card);
        let course = &mut self.subscriptions[n].course;
        course.card = verdict.map(|verdict| verdict == Verdict::Approved);
        if course.is_open() || course.card.is_none() || course.used_up() {
            answer.refused(400, "invalid_state");
            return;
        }
        let entries = course.ledger.len();
        if course.reactivates(include_setup, self.now) == 200 {
            if let Some((_, _, amount)) = self.subscriptions[n].course.ledger.get(entries).copied() {
                self.bills_charge(plan, customer, card, amount);
            }
            expect_record(&answer, 200, self.subscription(&self.subscriptions[n]));
        } else {
            let amount = course.plan.amount + if include_setup { course.plan.setup } else { 0 };
            verdict.unwrap().refuses(&answer, "charge_token");
            self.bills_charge(plan, customer, card, amount);
        }
        self.check_events().await;
    }

    /// What is due of a subscription now: a bill, or its end.
    pub fn subscription_is_due(&mut self, n: usize) {
        let it = &self.subscriptions[n];
        let (plan, customer, card) = (it.plan, it.customer, it.card);
        let verdict = self.verdict_of(customer, card);
        let course = &mut self.subscriptions[n].course;
        course.card = verdict.map(|verdict| verdict == Verdict::Approved);
        let (bills, billed, entries, state) =
            (course.next_bill.is_some(), course.billed, course.ledger.len(), course.state);
        let whole = course.plan.amount + if course.setup_due { course.plan.setup } else { 0 };
        course.step(self.now);
        let (charged, ends) = (course.ledger.get(entries).copied(), course.state == Course::Cancelled);
        if !bills {
            let unsubscribed = state == Course::Cancelling;
            return self.record_event(
                n,
                if unsubscribed { "subscription.cancelled" } else { "subscription.expired" },
            );
        }
        if course.billed > billed {
            if let Some((_, _, amount)) = charged {
                self.bills_charge(plan, customer, card, amount);
            }
            return self.record_event(n, "subscription.renewed");
        }
        self.bills_charge(plan, customer, card, whole);
        if !ends {
            return self.record_event(n, "subscription.renewal_failed");
        }
        // One after the other: it fails for the last time, and is cancelled then.
        let failed = json!({ "state": word(state), "cancelled_at": null });
        self.happens("subscription.renewal_failed", with(self.subscription(&self.subscriptions[n]), &failed));
        self.record_event(n, "subscription.cancelled");
    }

    fn record_event(&mut self, n: usize, kind: &'static str) {
        self.happens(kind, self.subscription(&self.subscriptions[n]));
    }

    /// The subscriptions of a customer that goes.
    pub fn cancels_subscriptions_of(&mut self, customer: usize) {
        for n in 0..self.subscriptions.len() {
            let it = &mut self.subscriptions[n];
            let there = self.plans[it.plan].is_there;
            if it.customer == customer && there && it.course.state != Course::Cancelled {
                it.course.cancel(self.now);
                self.happens("subscription.cancelled", self.subscription(&self.subscriptions[n]));
            }
        }
    }

    async fn looks_at_ledger(&mut self, n: usize) {
        let it = &self.subscriptions[n];
        let path = it.path();
        if !self.plans[it.plan].is_there {
            self.wire.get(&path).await.not_found();
            return self.wire.get(&format!("{path}/ledger")).await.not_found();
        }
        let expected = newest(it.course.ledger.iter(), |(at, what, amount)| {
            let credit = *what == "charge_credit";
            json!({
                "created_at": shown(*at), "type": if credit { "credit" } else { "debit" }, "amount": amount,
                "currency": "AUD", "annotation": what,
            })
        });
        are("entries", &self.wire.all(&format!("{path}/ledger"), 4, false).await, &expected);
    }
}
