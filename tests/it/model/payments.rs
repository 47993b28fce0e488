//! Parts of every payment: an amount, a payer, and the acquirer's verdict.

use serde_json::{Value, json};

use super::cards::{CardRequest, CardState, GATEWAY_ERROR, Number, NumberOutcome, expiry};
use super::wire::Time;
use super::world::{World, below, fault, one_in, pick};
use crate::harness::{Answer, random::Random};

/// A currency, its least charge, and what a unit of it is worth, in ten-thousandths of an AUD unit.
#[derive(Debug, Clone, Copy)]
pub struct Currency(pub &'static str, pub i64, i64);

pub const AUD: Currency = Currency("AUD", 100, 10_000);
const CURRENCIES: [Currency; 15] = [
    AUD,
    Currency("USD", 100, 15_000),
    Currency("NZD", 100, 9_000),
    Currency("SGD", 100, 11_500),
    Currency("EUR", 100, 16_500),
    Currency("GBP", 50, 19_500),
    Currency("CAD", 100, 11_000),
    Currency("HKD", 1_000, 1_900),
    // A yen has no cents.
    Currency("JPY", 100, 10_000),
    Currency("MYR", 300, 3_500),
    Currency("THB", 2_000, 450),
    Currency("PHP", 3_000, 260),
    Currency("ZAR", 1_000, 850),
    Currency("IDR", 1_000_000, 1),
    Currency("TWD", 2_500, 480),
];

impl Currency {
    pub fn any(random: &mut Random) -> Self {
        if one_in(random, 4) { CURRENCIES[below(random, 15)] } else { AUD }
    }

    /// What an amount is in AUD cents, half a cent up.
    pub fn settles(&self, amount: i64) -> i64 {
        (amount * self.2 + 5_000) / 10_000
    }
}

/// Who pays, with what number, and which card that uses up.
pub struct Payer {
    pub parameter: &'static str,
    pub value: Value,
    pub number: Number,
    pub card: Value,
    pub customer: Option<usize>,
    pub uses: Option<usize>,
    pub faults: Vec<(String, String)>,
    /// Spent or reserved.
    pub used: bool,
}

impl Payer {
    /// A customer, by one of its cards.
    pub fn customer(world: &World, customer: usize, card: usize) -> Self {
        let it = &world.customers[customer];
        let invalid = || fault("customer_token", "Customer token is not valid");
        Self {
            parameter: "customer_token",
            value: it.token.clone(),
            number: world.cards[card].number,
            card: world.card(card),
            customer: Some(customer),
            uses: None,
            faults: if it.is_there { Vec::new() } else { invalid() },
            used: false,
        }
    }
}

/// What the acquirer makes of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Approved,
    Declined(&'static str, &'static str),
    GatewayError,
}

const EXPIRED: Verdict = Verdict::Declined("expired_card", "The card has expired");

impl Verdict {
    /// On a card of this number, at this time, where the sandbox has ordered nothing.
    pub fn new(number: Number, now: Time) -> Self {
        match number.ends {
            _ if number.expires && now >= expiry() => EXPIRED,
            NumberOutcome::Approved | NumberOutcome::RefundsFail => Self::Approved,
            NumberOutcome::Declined(error, description) => Self::Declined(error, description),
            NumberOutcome::GatewayError => Self::GatewayError,
        }
    }

    /// Or where it has, but for an expired card, of which the acquirer is not asked.
    pub fn ordered(number: Number, now: Time, forced: Option<(&str, Self)>) -> Self {
        let expired = number.expires && now >= expiry();
        forced.filter(|_| !expired).map_or_else(|| Self::new(number, now), |(_, verdict)| verdict)
    }

    /// The message of a failed record.
    pub fn message(self) -> Option<&'static str> {
        match self {
            Self::Approved => None,
            Self::Declined(_, description) => Some(description),
            Self::GatewayError => Some(GATEWAY_ERROR),
        }
    }

    /// The refusal, and the token of the failed record that it carries.
    #[track_caller]
    pub fn refuses(self, answer: &Answer, token: &str) -> Value {
        let body = match self {
            Self::Declined(error, description) => {
                let body = answer.refused(400, error);
                assert_eq!(body["error_description"], description);
                body
            }
            Self::GatewayError => answer.refused(502, "gateway_error"),
            Self::Approved => unreachable!(),
        };
        body[token].clone()
    }
}

/// A forced outcome, as the header has it, sometimes.
pub fn forced(random: &mut Random) -> Option<(&'static str, Verdict)> {
    let forced = [
        ("stolen_card", Verdict::Declined("stolen_card", "The card was reported stolen")),
        ("gateway_error", Verdict::GatewayError),
        ("approved_but_lost", Verdict::GatewayError),
    ];
    one_in(random, 12).then(|| forced[below(random, 3)])
}

/// What a charge of a merchant may come to, in AUD cents.
const AMOUNT_MAX: i64 = 2_500_000;

/// The parameters of a payment, but for who pays.
pub struct PaymentRequest {
    pub parameters: Value,
    pub amount: i64,
    pub currency: Currency,
    pub faults: Vec<(String, String)>,
    pub platform: Option<i64>,
}

impl PaymentRequest {
    pub fn any(random: &mut Random) -> Self {
        let currency = Currency::any(random);
        let amount = currency.1 + i64::try_from(random.below(currency.1.unsigned_abs() * 60)).unwrap();
        let words = ["test charge", "Ünïcode Tea", "50% off_", "coffee beans"][below(random, 4)];
        let mut parameters = json!({
            "email": "roland@example.com", "description": words, "amount": amount, "ip_address": "203.192.1.172",
        });
        if currency.0 != "AUD" || one_in(random, 3) {
            parameters["currency"] = currency.0.to_lowercase().into();
        }
        if one_in(random, 4) {
            parameters["metadata"] = json!({ "order": format!("no {}", random.below(4)), "gift": "True" });
        }
        let mut request = Self { parameters, amount, currency, faults: Vec::new(), platform: None };
        if one_in(random, 12) {
            request.spoil(random);
        }
        request
    }

    fn spoil(&mut self, random: &mut Random) {
        let (param, value, message) = match random.below(8) {
            0 => ("email", json!("@"), "Email is not formatted properly".to_owned()),
            1 => ("description", json!(" "), "Description can't be blank".to_owned()),
            2 => ("amount", json!(null), "Amount can't be blank".to_owned()),
            3 => ("amount", json!("10.5"), "Amount must be an integer".to_owned()),
            4 => {
                ("amount", json!(self.currency.1 - 1), format!("Amount must be at least {}", self.currency.1))
            }
            5 => ("ip_address", json!("203.192.1"), "Ip address is not formatted properly".to_owned()),
            6 if self.currency.0 == "AUD" => {
                ("amount", json!(AMOUNT_MAX + 1), format!("Amount must be at most {AMOUNT_MAX}"))
            }
            6 => ("amount", json!("much"), "Amount is not a number".to_owned()),
            _ => ("currency", json!("XAU"), "Currency is not a supported currency".to_owned()),
        };
        self.parameters[param] = value;
        self.faults = fault(param, &message);
    }
}

impl World {
    /// Chooses a payer, or a token that cannot pay.
    pub fn some_payer(&self, random: &mut Random) -> Payer {
        let kind = random.below(7);
        if kind < 3
            && let Some(customer) = self.some_customer(random)
        {
            return Payer::customer(self, customer, self.customers[customer].primary);
        }
        if kind < 6
            && let Some(card) = pick(random, self.cards.len())
        {
            let state = self.cards[card].state;
            let invalid = fault("card_token", "Card token is not valid");
            let (faults, customer) = match state {
                CardState::Gone => (invalid, None),
                CardState::Owned(customer) => (Vec::new(), Some(customer)),
                CardState::Unused | CardState::Reserved | CardState::Spent => (Vec::new(), None),
            };
            let by_card = Payer {
                parameter: "card_token",
                value: self.card_token(card),
                number: self.cards[card].number,
                card: self.card(card),
                customer,
                uses: (state == CardState::Unused).then_some(card),
                faults,
                used: matches!(state, CardState::Spent | CardState::Reserved),
            };
            let Some(source) = self.cards[card].source.clone().filter(|_| one_in(random, 2)) else {
                return by_card;
            };
            // Attached to a customer, the card goes on and its source is used up.
            return Payer {
                parameter: "payment_source_token",
                value: source,
                customer: None,
                faults: if state == CardState::Gone {
                    fault("payment_source_token", "Payment source token is not valid")
                } else {
                    Vec::new()
                },
                used: !matches!(state, CardState::Unused | CardState::Gone),
                ..by_card
            };
        }
        let sent = CardRequest::any(random, self.now);
        let faults = sent.faults("card");
        Payer {
            parameter: "card",
            number: sent.number,
            value: sent.parameters,
            card: sent.shown,
            customer: None,
            uses: None,
            faults,
            used: false,
        }
    }
}

/// The faults of a payment in the order of its parameters.
pub fn in_order(request: &PaymentRequest, payer: &Payer) -> Vec<(String, String)> {
    let late = request.faults.first().is_some_and(|(param, _)| param == "currency");
    let (request, payer) = (request.faults.clone(), payer.faults.clone());
    if late { [payer, request].concat() } else { [request, payer].concat() }
}
