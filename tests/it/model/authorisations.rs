//! Authorisations: a charge that waits for its capture, under another name.

use http::Method;
use serde_json::{Value, json};

use super::charges::{Charge, State};
use super::payments::{PaymentRequest, Verdict, forced, in_order};
use super::wire::Time;
use super::world::{World, expect_record, fault, faulty, one_in, pick, shown};
use crate::harness::random::Random;

pub struct Authorisation {
    /// As if it were a charge.
    pub charge: Charge,
    captured: i64,
    voided: Option<Time>,
}

impl Authorisation {
    fn path(&self) -> String {
        format!("/1/authorisations/{}", self.charge.token.as_str().unwrap())
    }

    fn refusal(&self, now: Time) -> Option<&'static str> {
        match self.charge.state {
            State::Captured => Some("already_captured"),
            State::Voided => Some("already_voided"),
            State::Failed | State::Pending => Some("bad_authorisation"),
            State::Authorised => self.charge.is_expired(now).then_some("authorisation_expired"),
        }
    }
}

impl World {
    pub fn authorisation(&self, it: &Authorisation) -> Value {
        let charge = &it.charge;
        let expired = charge.is_expired(self.now);
        let capturable = charge.state == State::Authorised && !expired;
        let message = match charge.state {
            State::Voided => Some("Authorisation Voided"),
            State::Failed => charge.error,
            State::Pending | State::Authorised | State::Captured => Some("Success"),
        };
        json!({
            "token": charge.token, "success": charge.state != State::Failed, "amount": charge.amount,
            "amount_captured": it.captured, "amount_remaining": if capturable { charge.amount } else { 0 },
            "currency": charge.currency.0, "description": charge.description, "email": charge.email,
            "ip_address": charge.ip_address, "created_at": shown(charge.created), "error_message": charge.error,
            "card": charge.card, "settlement_currency": "AUD", "metadata": charge.metadata, "status_message": message,
            "expired": expired, "voided": it.voided.is_some(), "voided_at": it.voided.map(shown), "capturable": capturable,
        })
    }

    pub async fn authorises(&mut self, random: &mut Random) {
        let mut request = PaymentRequest::any(random);
        let payer = self.some_payer(random);
        request.parameters[payer.parameter] = payer.value.clone();
        let forced = forced(random);
        let headers: Vec<_> =
            forced.iter().map(|(word, _)| ("Sandbox-Outcome", (*word).to_owned())).collect();
        let answer =
            self.wire.change(random, Method::POST, "/1/authorisations", &headers, &request.parameters).await;
        let faults = in_order(&request, &payer);
        if !faults.is_empty() {
            return faulty(&answer, &faults);
        }
        if payer.used {
            answer.refused(400, "token_already_used");
            return;
        }
        let verdict = Verdict::ordered(payer.number, self.now, forced);
        self.spends(payer.uses, verdict);
        let mut it = Authorisation { charge: Charge::new(self, &payer, &request), captured: 0, voided: None };
        it.charge.token = "?auth_".into();
        let record = if verdict == Verdict::Approved {
            it.charge.state = State::Authorised;
            expect_record(&answer, 201, self.authorisation(&it))
        } else {
            it.charge.error = verdict.message();
            it.charge.token = verdict.refuses(&answer, "authorisation_token");
            expect_record(&self.wire.get(&it.path()).await, 200, self.authorisation(&it))
        };
        it.charge.token = record["token"].clone();
        it.charge.card = record["card"].clone();
        self.authorisations.push(it);
        let approved = verdict == Verdict::Approved;
        self.happens(if approved { "charge.authorised" } else { "charge.failed" }, record);
    }

    pub async fn follows_authorisation(&mut self, random: &mut Random) {
        let Some(n) = pick(random, self.authorisations.len()) else { return };
        let it = &self.authorisations[n];
        let (path, refusal) = (it.path(), it.refusal(self.now));
        if one_in(random, 3) {
            let answer =
                self.wire.change(random, Method::PUT, &format!("{path}/void"), &[], &json!({})).await;
            if let Some(code) = refusal {
                let body = answer.refused(400, code);
                assert_eq!(body["authorisation_token"], self.authorisations[n].charge.token);
                return;
            }
            self.authorisations[n].charge.state = State::Voided;
            self.authorisations[n].voided = Some(self.now);
            let record = expect_record(&answer, 200, self.authorisation(&self.authorisations[n]));
            return self.happens("charge.voided", record);
        }
        let (whole, least) = (it.charge.amount, it.charge.currency.1);
        let part = least + i64::try_from(random.below((whole - least + 1).unsigned_abs())).unwrap();
        let (amount, faults) = match random.below(8) {
            0 => (json!(least - 1), fault("amount", &format!("Amount must be at least {least}"))),
            1 => (json!(whole + 1), fault("amount", &format!("Amount must be at most {whole}"))),
            2 => (json!("x"), fault("amount", "Amount is not a number")),
            3 => (json!(whole), Vec::new()),
            _ => (json!(part), Vec::new()),
        };
        let request = json!({ "amount": amount });
        let answer = self.wire.change(random, Method::POST, &format!("{path}/charges"), &[], &request).await;
        if !faults.is_empty() {
            return faulty(&answer, &faults);
        }
        if let Some(code) = refusal {
            answer.refused(400, code);
            return;
        }
        let amount = amount.as_i64().unwrap();
        let of = &self.authorisations[n].charge;
        let charge = Charge {
            token: "?ch_".into(),
            amount,
            authorisation: of.token.clone(),
            card: of.card.clone(),
            description: of.description.clone(),
            email: of.email.clone(),
            ip_address: of.ip_address.clone(),
            metadata: of.metadata.clone(),
            created: self.now,
            ..*of
        };
        self.charges.push(charge);
        let charge = self.charges.len() - 1;
        self.is_captured(charge);
        self.authorisations[n].charge.state = State::Captured;
        self.authorisations[n].captured = amount;
        let record = expect_record(&answer, 200, self.charge(charge));
        self.charges[charge].token = record["token"].clone();
        self.happens("charge.captured", record);
    }
}
