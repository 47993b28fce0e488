//! Charges: what they cost, and what becomes of them.

use chrono::Duration;
use http::Method;
use serde_json::{Value, json};

use super::cards::{CardState, Number};
use super::payments::{Currency, Payer, PaymentRequest, Verdict, forced, in_order};
use super::wire::Time;
use super::world::{World, are, below, expect_record, faulty, newest, one_in, pick, shown};
use crate::harness::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its cardholder is asked.
    Pending,
    Authorised,
    Captured,
    Voided,
    Failed,
}

pub struct Charge {
    pub token: Value,
    pub state: State,
    pub amount: i64,
    pub currency: Currency,
    pub number: Number,
    pub customer: Option<usize>,
    /// The card as it was charged.
    pub card: Value,
    pub description: Value,
    pub email: Value,
    pub ip_address: Value,
    pub metadata: Value,
    pub created: Time,
    /// When it was authorised.
    pub since: Time,
    pub captured: Option<Time>,
    pub error: Option<&'static str>,
    pub authorisation: Value,
    /// AUD cents, and the share of the platform's.
    pub platform: Option<i64>,
}

impl Charge {
    /// A charge that is made now.
    pub fn new(world: &World, payer: &Payer, request: &PaymentRequest) -> Self {
        Self {
            token: "?ch_".into(),
            state: State::Failed,
            amount: request.amount,
            currency: request.currency,
            number: payer.number,
            customer: payer.customer,
            card: payer.card.clone(),
            description: request.parameters["description"].clone(),
            email: request.parameters["email"].clone(),
            ip_address: request.parameters["ip_address"].clone(),
            metadata: request.parameters.get("metadata").cloned().unwrap_or_else(|| json!({})),
            created: world.now,
            since: world.now,
            captured: None,
            error: None,
            authorisation: Value::Null,
            platform: request.platform,
        }
    }

    pub fn settlement(&self) -> i64 {
        self.currency.settles(self.amount)
    }

    /// 30 cents and 1.75 % for an Australian card in AUD, else 2.9 %, half a cent up; never more than there is.
    pub fn fees(&self) -> i64 {
        let domestic = self.currency.0 == "AUD" && self.number.country == "AU";
        let rate = if domestic { 175 } else { 290 };
        (30 + (self.settlement() * rate + 5_000) / 10_000).min(self.settlement())
    }

    pub fn platform_fees(&self) -> i64 {
        self.platform.map_or(0, |amount| self.currency.settles(amount))
    }

    pub fn entitlement(&self) -> i64 {
        self.settlement() - self.fees() - self.platform_fees()
    }

    pub fn is_listed(&self) -> bool {
        !matches!(self.state, State::Pending | State::Failed)
    }

    pub fn is_expired(&self, now: Time) -> bool {
        self.state == State::Authorised && now >= self.since + Duration::days(7)
    }

    pub fn path(&self) -> String {
        format!("/1/charges/{}", self.token.as_str().unwrap())
    }

    /// Why it can be neither captured nor voided.
    fn refusal(&self, now: Time) -> Option<&'static str> {
        match self.state {
            State::Pending | State::Failed => Some("bad_authorisation"),
            State::Captured => Some("already_captured"),
            State::Voided => Some("already_voided"),
            State::Authorised => self.is_expired(now).then_some("authorisation_expired"),
        }
    }
}

impl World {
    pub fn charge(&self, charge: usize) -> Value {
        let it = &self.charges[charge];
        let refunds = self.refunds.iter().filter(|refund| refund.charge == charge);
        let refunded: i64 = refunds.clone().filter(|it| it.success != Some(false)).map(|it| it.amount).sum();
        let captured = it.state == State::Captured;
        let message = match it.state {
            State::Pending => Some("Pending"),
            State::Voided => Some("Authorisation Voided"),
            State::Failed => it.error,
            State::Authorised | State::Captured => Some("Success"),
        };
        let mut shown = json!({
            "token": it.token, "success": it.is_listed(), "amount": it.amount, "currency": it.currency.0,
            "description": it.description, "email": it.email, "ip_address": it.ip_address,
            "created_at": shown(it.created), "status_message": message, "error_message": it.error, "card": it.card,
            "transfer": self.paid_by(charge), "amount_refunded": refunded, "total_fees": captured.then(|| it.fees()),
            "merchant_entitlement": captured.then(|| it.entitlement()),
            "refund_pending": refunds.clone().any(|refund| refund.success.is_none()),
            "authorisation_token": it.authorisation, "authorisation_expired": it.is_expired(self.now),
            "authorisation_voided": it.state == State::Voided, "captured": captured,
            "captured_at": it.captured.map(shown), "settlement_currency": "AUD",
            "active_chargebacks": self.disputes.iter().any(|dispute| dispute.charge == charge && dispute.is_active()),
            "metadata": it.metadata,
        });
        if let Some(amount) = it.platform {
            shown["platform_adjustment"] = json!({ "amount": amount, "currency": it.currency.0 });
            shown["platform_fees"] = if captured { it.platform_fees().into() } else { 0.into() };
        }
        shown
    }

    pub fn listed_charges(&self, which: impl Fn(&Charge) -> bool) -> Vec<Value> {
        let listed = |charge: &usize| self.charges[*charge].is_listed() && which(&self.charges[*charge]);
        newest((0..self.charges.len()).filter(listed), |charge| self.charge(charge))
    }

    pub async fn charges(&mut self, random: &mut Random) {
        let mut request = PaymentRequest::any(random);
        let payer = self.some_payer(random);
        request.parameters[payer.parameter] = payer.value.clone();
        let capture = !one_in(random, 3);
        if !capture || one_in(random, 3) {
            request.parameters["capture"] =
                [json!(capture), json!(capture.to_string())][below(random, 2)].clone();
        }
        if one_in(random, 10) {
            let amount = 1 + i64::try_from(random.below(20)).unwrap();
            request.parameters["platform_adjustment"] = json!({ "amount": amount });
            request.platform = Some(amount);
        }
        let forced = forced(random);
        let headers: Vec<_> =
            forced.iter().map(|(word, _)| ("Sandbox-Outcome", (*word).to_owned())).collect();
        let answer =
            self.wire.change(random, Method::POST, "/1/charges", &headers, &request.parameters).await;
        let faults = in_order(&request, &payer);
        if !faults.is_empty() {
            return faulty(&answer, &faults);
        }
        if payer.used {
            answer.refused(400, "token_already_used");
            return;
        }
        let verdict = Verdict::ordered(payer.number, self.now, forced);
        let made = Charge::new(self, &payer, &request);
        self.spends(payer.uses, verdict);
        let charge = self.charges.len();
        self.charges.push(made);
        if verdict != Verdict::Approved {
            self.charges[charge].token = verdict.refuses(&answer, "charge_token");
            self.charges[charge].error = verdict.message();
            self.fails(charge).await;
            return;
        }
        self.charges[charge].state = State::Authorised;
        if capture {
            self.is_captured(charge);
        }
        let record = expect_record(&answer, 201, self.charge(charge));
        self.charges[charge].token = record["token"].clone();
        self.charges[charge].card = record["card"].clone();
        self.happens(if capture { "charge.captured" } else { "charge.authorised" }, record);
    }

    /// A single-use card after an attempt: spent by an answer of the issuer's, free where nothing can have been charged.
    pub fn spends(&mut self, card: Option<usize>, verdict: Verdict) {
        if let Some(card) = card.filter(|_| verdict != Verdict::GatewayError) {
            self.cards[card].state = CardState::Spent;
        }
    }

    /// A failed record is shown by GET and by its event.
    async fn fails(&mut self, charge: usize) {
        let record =
            expect_record(&self.wire.get(&self.charges[charge].path()).await, 200, self.charge(charge));
        self.charges[charge].card = record["card"].clone();
        self.happens("charge.failed", record);
    }

    /// Books an approved charge as captured now.
    pub fn is_captured(&mut self, charge: usize) {
        self.charges[charge].state = State::Captured;
        self.charges[charge].captured = Some(self.now);
        self.earns(charge);
    }

    pub async fn captures_or_voids(&mut self, random: &mut Random) {
        let authorised: Vec<_> =
            (0..self.charges.len()).filter(|it| self.charges[*it].state == State::Authorised).collect();
        let any = one_in(random, 4);
        let picked = pick(random, if any { self.charges.len() } else { authorised.len() });
        let Some(charge) = picked.map(|n| if any { n } else { authorised[n] }) else { return };
        let capture = !one_in(random, 3);
        let (path, refusal) = (self.charges[charge].path(), self.charges[charge].refusal(self.now));
        let whole = self.charges[charge].amount;
        let (body, wrong) = match random.below(6) {
            0 if capture => (json!({ "amount": whole - 1 }), true),
            1 if capture => (json!({ "amount": "all" }), true),
            2 if capture => (json!({ "amount": whole.to_string() }), false),
            _ => (json!({}), false),
        };
        let verb = if capture { "capture" } else { "void" };
        let answer = self.wire.change(random, Method::PUT, &format!("{path}/{verb}"), &[], &body).await;
        if let Some(code) = refusal.or(wrong.then_some("invalid_capture_amount")) {
            let body = answer.refused(400, code);
            assert_eq!(body["charge_token"], self.charges[charge].token, "{body}");
            return;
        }
        if capture {
            self.is_captured(charge);
        } else {
            self.charges[charge].state = State::Voided;
        }
        let record = expect_record(&answer, 200, self.charge(charge));
        self.happens(if capture { "charge.captured" } else { "charge.voided" }, record);
    }

    /// A charge by itself, its refunds, and what a search finds.
    pub async fn searches_charges(&mut self, random: &mut Random) {
        let Some(charge) = pick(random, self.charges.len()) else { return };
        let it = &self.charges[charge];
        let record = expect_record(&self.wire.get(&it.path()).await, 200, self.charge(charge));
        let (amount, token, currency) = (it.amount, it.token.clone(), it.currency.0);
        let customer = it.customer.map(|customer| self.customers[customer].token.clone());
        let folded = |value: &Value| value.as_str().unwrap_or_default().to_lowercase();
        let (query, found): (String, Vec<usize>) = match random.below(6) {
            0 => (
                amount.to_string(),
                self.found(|it| it.amount == amount || it.is_worded(&amount.to_string())),
            ),
            1 => (token.as_str().unwrap().to_owned(), self.found(|it| it.token == token)),
            2 => (
                currency.to_lowercase(),
                self.found(|it| it.currency.0 == currency || it.is_worded(&currency.to_lowercase())),
            ),
            3 => {
                let Some(Value::String(customer)) = customer else { return };
                let named =
                    |it: &Charge| it.customer.is_some_and(|n| self.customers[n].token == customer.as_str());
                (customer.clone(), self.found(named))
            }
            4 => {
                let words = folded(&record["description"]);
                let part: String = words.chars().skip(1).take(4).collect();
                (part.clone(), self.found(|it| it.is_worded(part.trim())))
            }
            _ => ("NO 1".into(), self.found(|it| it.is_worded("no 1"))),
        };
        let encoded = query.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        let back = one_in(random, 2);
        let path = format!("/1/charges/search?query={encoded}&direction={}", if back { -1 } else { 1 });
        let mut expected: Vec<_> = found.into_iter().map(|charge| self.charge(charge)).collect();
        if back {
            expected.reverse();
        }
        are(&format!("found by {query:?}"), &self.wire.all(&path, 9, true).await, &expected);
    }

    fn found(&self, which: impl Fn(&Charge) -> bool) -> Vec<usize> {
        let listed = (0..self.charges.len()).filter(|charge| self.charges[*charge].is_listed());
        listed.filter(|charge| which(&self.charges[*charge])).collect()
    }
}

impl Charge {
    /// Returns whether a word stands in what a search looks at.
    fn is_worded(&self, word: &str) -> bool {
        let holds = |value: &Value| value.as_str().is_some_and(|text| text.to_lowercase().contains(word));
        let metadata = self.metadata.as_object().unwrap().values().any(holds);
        holds(&self.description) || holds(&self.email) || holds(&self.card["name"]) || metadata
    }
}
