//! Cards: their numbers, what is asked of them, what is shown of them.

use chrono::{Datelike, Months, NaiveTime};
use http::Method;
use serde_json::{Value, json};

use super::wire::Time;
use super::world::{World, below, expect_record, faulty, one_in, pick};
use crate::harness::random::Random;
use crate::harness::{as_of, with};

/// How attempts on a number end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberOutcome {
    Approved,
    RefundsFail,
    /// Error and description.
    Declined(&'static str, &'static str),
    GatewayError,
}

/// What the specification knows of a number.
#[derive(Debug, Clone, Copy)]
pub struct Number {
    pub digits: &'static str,
    pub ends: NumberOutcome,
    pub country: &'static str,
    /// Whether this card of the number is good for the month only in which lives begin.
    pub expires: bool,
}

/// When lives begin.
fn start() -> Time {
    as_of().to_string().parse().unwrap()
}

/// When such cards are good no more.
pub fn expiry() -> Time {
    let first = start().date_naive().with_day(1).unwrap() + Months::new(1);
    first.and_time(NaiveTime::MIN).and_utc()
}

pub const GATEWAY_ERROR: &str =
    "An upstream error occurred while processing the transaction. Please try again.";

const fn number(digits: &'static str, ends: NumberOutcome, country: &'static str) -> Number {
    Number { digits, ends, country, expires: false }
}

const DECLINED: NumberOutcome = NumberOutcome::Declined("card_declined", "The card was declined");
const FUNDS: NumberOutcome = NumberOutcome::Declined(
    "insufficient_funds",
    "There are not enough funds available to process the requested amount",
);
const CVV: NumberOutcome =
    NumberOutcome::Declined("invalid_cvv", "The card verification code (cvc) was not in the correct format");
const INVALID: NumberOutcome = NumberOutcome::Declined("invalid_card", "The card was invalid");
const PROCESSING: NumberOutcome =
    NumberOutcome::Declined("processing_error", "An error occurred while processing the card");
const FRAUD: NumberOutcome = NumberOutcome::Declined(
    "suspected_fraud",
    "The transaction was flagged as possibly fraudulent and subsequently declined",
);
const UNKNOWN: NumberOutcome =
    NumberOutcome::Declined("unknown", "Sorry, an unknown error has occurred. This is being investigated");

/// The first nine succeed.
pub const NUMBERS: [Number; 25] = [
    number("4200000000000000", NumberOutcome::Approved, "AU"),
    number("5520000000000000", NumberOutcome::Approved, "AU"),
    number("372000000000000", NumberOutcome::Approved, "AU"),
    number("3528800000000000", NumberOutcome::Approved, "AU"),
    number("6510000000000000", NumberOutcome::Approved, "AU"),
    number("36400190000000", NumberOutcome::Approved, "NZ"),
    number("372001800000000", NumberOutcome::Approved, "NZ"),
    number("4242424242424242", NumberOutcome::Approved, "US"),
    number("6011111111111117", NumberOutcome::Approved, "US"),
    number("4200700000000013", NumberOutcome::RefundsFail, "AU"),
    number("4100000000000001", DECLINED, "AU"),
    number("3528300000000001", DECLINED, "AU"),
    number("5510000000000002", FUNDS, "AU"),
    number("6500000000000002", FUNDS, "AU"),
    number("4900000000000003", CVV, "AU"),
    number("379000000000003", CVV, "AU"),
    number("36200000000004", INVALID, "AU"),
    number("377000000000005", PROCESSING, "AU"),
    number("4600000000000006", FRAUD, "AU"),
    number("4300000000000009", NumberOutcome::GatewayError, "AU"),
    number("5570000000000009", NumberOutcome::GatewayError, "AU"),
    number("5530000000000099", UNKNOWN, "AU"),
    number("4200600000000007", NumberOutcome::Declined("expired_card", "The card has expired"), "AU"),
    number("5500300000000008", NumberOutcome::Declined("lost_card", "The card was reported lost"), "AU"),
    number("4200400000000010", NumberOutcome::Declined("stolen_card", "The card was reported stolen"), "AU"),
];

impl Number {
    pub fn any(random: &mut Random) -> Self {
        let bound = if one_in(random, 4) { NUMBERS.len() } else { 10 };
        NUMBERS[below(random, bound)]
    }

    pub fn scheme(&self) -> &'static str {
        match &self.digits[..2] {
            "37" => "american_express",
            "35" => "jcb",
            "36" | "30" => "diners_club",
            "60" | "65" => "discover",
            other if other.starts_with('4') => "visa",
            _ => "master",
        }
    }

    fn masked(&self) -> String {
        let hidden = self.digits.len() - 4;
        let mut masked = String::new();
        for (n, digit) in self.digits.chars().enumerate() {
            if n > 0 && (self.digits.len() - n).is_multiple_of(4) {
                masked.push('-');
            }
            masked.push(if n < hidden { 'X' } else { digit });
        }
        masked
    }
}

/// What becomes of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardState {
    /// Its token may be used once, until it expires.
    Unused,
    Reserved,
    Spent,
    /// A customer's.
    Owned(usize),
    Gone,
}

pub struct Card {
    pub number: Number,
    pub made: Time,
    pub state: CardState,
    /// The token of the payment source that it came as, which is used up with its own.
    pub source: Option<Value>,
    /// Without what depends on its owner.
    shown: Value,
}

/// A card as it is sent, what would be shown of it, and what is wrong with it.
pub struct CardRequest {
    pub number: Number,
    pub parameters: Value,
    pub shown: Value,
    faults: Vec<(&'static str, &'static str)>,
}

impl CardRequest {
    /// Some card, hardly ever a faulty one.
    pub fn any(random: &mut Random, now: Time) -> Self {
        let number = Number::any(random);
        let amex = number.scheme() == "american_express";
        let mut parameters = json!({
            "number": number.digits, "expiry_month": 5, "expiry_year": 2030, "cvc": if amex { "1234" } else { "123" },
            "name": "Roland Robot", "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "AU",
        });
        if one_in(random, 2) {
            let more = [
                json!({ "address_line2": "", "address_postcode": "6454", "address_state": "WA" }),
                json!({ "name": "Jürgen Öz", "address_country": "Australia", "address_postcode": "" }),
                json!({ "expiry_month": "05", "expiry_year": "31", "name": "Rosa" }),
            ];
            parameters = with(parameters, &more[below(random, 3)]);
        }
        let text = |name: &str| parameters.get(name).cloned().unwrap_or_default();
        let shown = json!({
            "token": "?card_", "scheme": number.scheme(), "display_number": number.masked(),
            "issuing_country": number.country, "expiry_month": 5,
            "expiry_year": if text("expiry_year") == "31" { 2031 } else { 2030 },
            "name": text("name"), "address_line1": text("address_line1"), "address_line2": text("address_line2"),
            "address_city": text("address_city"), "address_postcode": text("address_postcode"),
            "address_state": text("address_state"), "address_country": text("address_country"),
            "network_type": null, "network_format": null, "customer_token": null, "primary": null,
        });
        let mut sent = Self { number, parameters, shown, faults: Vec::new() };
        if one_in(random, 6) {
            sent.expires_soon(now);
        } else if one_in(random, 10) {
            sent.spoil(random);
        }
        sent
    }

    fn expires_soon(&mut self, now: Time) {
        let this_month = json!({ "expiry_month": start().month(), "expiry_year": start().year() });
        self.number.expires = true;
        self.parameters = with(self.parameters.clone(), &this_month);
        self.shown = with(self.shown.clone(), &this_month);
        if now >= expiry() {
            self.faults =
                vec![("expiry_month", "expiry month is expired"), ("expiry_year", "expiry year is expired")];
        }
    }

    fn spoil(&mut self, random: &mut Random) {
        let (changes, faults): (Value, &[(&str, &str)]) = match random.below(8) {
            0 => (json!({ "number": "" }), &[("number", "number can't be blank")]),
            1 => (json!({ "number": "4000056655665556" }), &[("number", "number is not valid")]),
            2 => (json!({ "expiry_month": 13 }), &[("expiry_month", "expiry month must be at most 12")]),
            3 => (
                json!({ "expiry_year": 2026, "expiry_month": 1 }),
                &[("expiry_month", "expiry month is expired"), ("expiry_year", "expiry year is expired")],
            ),
            4 => (json!({ "cvc": "12" }), &[("cvc", "cvc is not valid")]),
            5 => (
                json!({ "name": " ", "address_city": null }),
                &[("name", "name can't be blank"), ("address_city", "address city can't be blank")],
            ),
            6 => (json!({ "address_country": "XX" }), &[("address_country", "address country is not valid")]),
            _ => (
                json!({ "expiry_year": "soon", "address_line1": "" }),
                &[
                    ("expiry_year", "expiry year is not a number"),
                    ("address_line1", "address line1 can't be blank"),
                ],
            ),
        };
        self.parameters = with(self.parameters.clone(), &changes);
        self.faults = faults.to_vec();
    }

    /// What is wrong with it, as parameters of that name, or by themselves.
    pub fn faults(&self, of: &str) -> Vec<(String, String)> {
        let nested = |(param, message): &(&str, &str)| {
            let mut words = if of.is_empty() { (*message).to_owned() } else { format!("{of} {message}") };
            words[..1].make_ascii_uppercase();
            let param = if of.is_empty() { (*param).to_owned() } else { format!("{of}.{param}") };
            (param, words)
        };
        self.faults.iter().map(nested).collect()
    }
}

impl World {
    /// A card of the model's for one that the server shows.
    pub fn keeps_card(&mut self, number: Number, shown: &Value, state: CardState) -> usize {
        let shown = with(shown.clone(), &json!({ "customer_token": null, "primary": null }));
        self.cards.push(Card { number, made: self.now, state, source: None, shown });
        self.cards.len() - 1
    }

    /// A card as it shows now.
    pub fn card(&self, card: usize) -> Value {
        let mut shown = self.cards[card].shown.clone();
        if let CardState::Owned(owner) = self.cards[card].state {
            shown["customer_token"] = self.customers[owner].token.clone();
            shown["primary"] = (self.customers[owner].primary == card).into();
        }
        shown
    }

    /// The server chooses the token of a card that came inline.
    pub fn learns_card(&mut self, card: usize, record: &Value) {
        self.cards[card].shown["token"] = record["token"].clone();
    }

    pub fn card_token(&self, card: usize) -> Value {
        self.cards[card].shown["token"].clone()
    }

    /// An unused card expires on the same day of the next month.
    pub fn expires(card: &Card) -> Time {
        card.made + Months::new(1)
    }

    /// A card by itself, or as a payment source.
    pub async fn stores_card(&mut self, random: &mut Random) {
        let sent = CardRequest::any(random, self.now);
        let as_source = one_in(random, 4);
        let (path, parameters, of) = if as_source {
            ("/1/payment_sources", json!({ "type": "card", "source": sent.parameters }), "source")
        } else {
            ("/1/cards", sent.parameters.clone(), "")
        };
        let answer = self.wire.change(random, Method::POST, path, &[], &parameters).await;
        let faults = sent.faults(of);
        if !faults.is_empty() {
            return faulty(&answer, &faults);
        }
        if !as_source {
            let shown = expect_record(&answer, 201, sent.shown);
            self.keeps_card(sent.number, &shown, CardState::Unused);
            return;
        }
        let expected = json!({ "token": "?ps_", "type": "card", "source": sent.shown });
        let record = expect_record(&answer, 201, expected);
        let card = self.keeps_card(sent.number, &record["source"], CardState::Unused);
        self.cards[card].source = Some(record["token"].clone());
    }

    pub async fn looks_at_card(&mut self, random: &mut Random) {
        let Some(card) = pick(random, self.cards.len()) else { return };
        let answer = self.wire.get(&format!("/1/cards/{}", self.card_token(card).as_str().unwrap())).await;
        if self.cards[card].state == CardState::Gone {
            return answer.not_found();
        }
        expect_record(&answer, 200, self.card(card));
    }
}
