//! The JSON of the protocol: the types of both ends, and the schemas of docs/acquirer/openapi.yaml. Unknown fields are
//! ignored.

mod meaning;

use std::collections::BTreeMap;

use base::secret::Secret;
use bytes::Bytes;
use entity::{Currency, Scheme};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;
use zeroize::Zeroizing;

/// More than the longest request takes: a buffer that grows leaves copies of its content in memory.
const REQUEST_BYTES: usize = 8 * 1024;

/// Serialises a message. Its bytes may hold a card number and are wiped once they are sent.
pub fn encode(message: &impl Serialize) -> Bytes {
    let mut bytes = Zeroizing::new(Vec::with_capacity(REQUEST_BYTES));
    serde_json::to_writer(&mut *bytes, message).expect("what goes over the wire is JSON");
    Bytes::from_owner(bytes)
}

/// Parses a message; `None` where it is malformed. Reports no details: the bytes may hold a card number.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

/// A card number, security code or cryptogram: sent over the wire, printed nowhere.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct CardData(Secret);

impl Serialize for CardData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose())
    }
}

/// The identity of an acquirer.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Greeting {
    /// Its name.
    #[schema(example = "simulator", min_length = 1, max_length = 100)]
    pub name: String,
}

/// A card's number.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CardLookup {
    /// Digits only.
    #[schema(value_type = String, example = "4200000000000000", pattern = "^[0-9]{12,19}$")]
    pub number: CardData,
}

/// Data about a card number.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CardLookupAnswer {
    /// The card; null if the acquirer does not accept the number.
    #[schema(required)]
    pub card: Option<CardDetails>,
}

/// Data about a card before it is charged.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct CardDetails {
    /// The network that carries its payments: visa, master, american_express, diners_club, discover or jcb.
    #[schema(value_type = String, example = "visa")]
    pub scheme: Scheme,
    /// ISO 3166-1, two letters.
    #[schema(example = "AU", pattern = "^[A-Z]{2}$")]
    pub issuing_country: String,
    /// Whether the card is enrolled in 3-D Secure. In test a page of the server stands for its issuer; in live the protocol has no challenge yet,
    /// and the card pays as one that is not enrolled.
    pub three_d_secure: bool,
}

/// The exchange rates.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Rates {
    /// By currency (ISO 4217), millionths of an AUD for one unit of it (a dollar, a yen), above zero. Other currencies
    /// are not accepted.
    #[schema(example = json!({ "AUD": 1_000_000, "USD": 1_500_000, "JPY": 10_000 }))]
    pub rates: BTreeMap<String, i64>,
}

/// An authorisation of a card payment.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Authorisation {
    /// The card.
    pub card: PayingCard,
    /// The proof of a wallet or network token, in place of a security code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub network: Option<Proof>,
    /// The amount in the currency's base unit: cents, or whole yen.
    #[schema(example = 400, minimum = 1)]
    pub amount: i64,
    /// ISO 4217.
    #[schema(value_type = String, example = "AUD")]
    pub currency: Currency,
    /// Whether to take the money at once, or only to reserve it.
    pub capture: bool,
    /// Text for the bank statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Roland Robotics", max_length = 40, nullable = false)]
    pub reference: Option<String>,
    /// In test only: the outcome that a tester ordered. disputed, refunds_fail, gateway_error, no_answer (done, but never
    /// answered), approved_but_lost (done, but answered no_answer), answer_lost (as the card has it, but answered no_answer), approved,
    /// or a decline code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "insufficient_funds", nullable = false)]
    pub sandbox: Option<String>,
}

/// A card that pays.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PayingCard {
    /// Digits only.
    #[schema(value_type = String, example = "4200000000000000", pattern = "^[0-9]{12,19}$")]
    pub number: CardData,
    /// Absent for a customer's card, which was used before, and for a card with a network proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, example = "123", pattern = "^[0-9]{3,4}$", required = false)]
    pub cvc: Option<CardData>,
    /// 1 to 12.
    #[schema(example = 5, minimum = 1, maximum = 12)]
    pub expiry_month: i32,
    /// Four digits.
    #[schema(example = 2030)]
    pub expiry_year: i32,
    /// The holder's name. Absent for cards of wallets that do not reveal it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "Roland Robot", nullable = false)]
    pub name: Option<String>,
}

/// The scheme's proof that this very payment was approved on the holder's device.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Proof {
    /// Electronic commerce indicator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "07", nullable = false)]
    pub eci: Option<String>,
    /// Good for one payment.
    #[schema(value_type = String)]
    pub cryptogram: CardData,
}

/// A capture, void or refund of an approved payment.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct FollowUp {
    /// The reference of the approval.
    #[schema(value_type = String, example = "simulator:ordinary:ch_1:charge", min_length = 1, max_length = 255)]
    pub reference: Reference,
    /// The amount in the currency's base unit. A capture takes all of the reserved amount or less, and releases the rest. A
    /// void releases all.
    #[schema(example = 400, minimum = 1)]
    pub amount: i64,
    /// ISO 4217: the currency of the approval.
    #[schema(value_type = String, example = "AUD")]
    pub currency: Currency,
    /// In test only: the fault that a tester ordered: gateway_error, no_answer or approved_but_lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "approved_but_lost", nullable = false)]
    pub sandbox: Option<String>,
}

/// An unanswered call, which may never have arrived.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct OriginalCall {
    /// Its Idempotency-Key.
    #[schema(example = "ch_AZqYv3rVcBKUQ1mHn7tKRw:charge", min_length = 1, max_length = 255)]
    pub key: String,
}

/// The outcome of a call.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Answer<Done> {
    /// It is done.
    Done(Done),
    /// The issuer refused, so nothing was done.
    Declined {
        /// Why: card_declined, insufficient_funds, invalid_cvv, invalid_card, processing_error, suspected_fraud,
        /// expired_card, lost_card or stolen_card. Any other word is unknown.
        #[schema(example = "card_declined")]
        code: String,
    },
    /// Nothing was done, for another reason than the issuer's refusal.
    GatewayError,
    /// The key was reversed or settled before this call came, so nothing was done.
    Closed,
    /// It may have been done: the key will be reversed or settled.
    NoAnswer,
}

/// An approval of the issuer.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Approved {
    /// The acquirer's reference; later calls name the payment by it.
    #[schema(value_type = String, example = "simulator:ordinary:ch_1:charge", min_length = 1, max_length = 255)]
    pub reference: Reference,
}

/// The money was taken, or released.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Completed {}

/// The refund was accepted; the money moves later.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// false if the issuer is known to return it.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub succeeds: bool,
}

fn yes() -> bool {
    true
}

/// The state of a call.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Settled {
    /// It was done.
    Done {
        /// The reference of the payment.
        #[schema(value_type = String, example = "simulator:ordinary:ch_1:charge", min_length = 1, max_length = 255)]
        reference: Reference,
    },
    /// It was not done and never will be.
    NotDone,
    /// Unknown yet: the server will ask again.
    NoAnswer,
}

/// A refusal of a request that was not processed.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Refused {
    /// protocol (another version of it), environment (the other one), signature (made with another secret), clock (signed too
    /// long ago, or in the future), malformed (invalid for the operation), unknown (no such operation), silent (no answer
    /// from the source).
    #[schema(example = "signature")]
    pub error: String,
}

impl Refused {
    /// Returns whether it is certain that nothing was done.
    pub fn is_unseen(&self) -> bool {
        ["malformed", "unknown"].contains(&self.error.as_str())
    }
}

/// The acquirer's reference of a payment: 1 to 255 characters without control characters.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Reference(String);

impl TryFrom<String> for Reference {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if is_name(&text, 255) { Ok(Self(text)) } else { Err("no reference") }
    }
}

/// Returns whether a text may be the name of an acquirer or its reference of a payment: one line of at most `most` characters.
pub fn is_name(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests;
