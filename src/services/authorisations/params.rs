//! Parameters of authorisations (specification, Authorisations), in the order of its lists.

use macros::params;
use serde_json::{Map, Value};
use validator::Validate as _;

use crate::limits::{NAME_LENGTH_MAX, REFERENCE_LENGTH_MAX, TEXT_LENGTH_MAX};
use crate::params::rules;
use crate::services::cards::params::NewCard;
use crate::services::charges::params::NewCharge;

/// An authorisation to be made. Exactly one of card, card_token, payment_source_token and customer_token pays.
#[params]
pub struct NewAuthorisation {
    /// The purchaser's e-mail address.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::email"))]
    #[schema(example = "roland@example.com")]
    pub email: String,
    /// What is bought.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "test authorisation")]
    pub description: String,
    /// In the currency's base unit, at least the currency's minimum.
    #[schema(minimum = 50, example = 400)]
    pub amount: i64,
    /// The purchaser's IPv4 or IPv6 address.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(custom(function = "rules::ip_address"))]
    #[schema(example = "203.192.1.172")]
    pub ip_address: String,
    /// A card given inline.
    #[validate(nested)]
    pub card: Option<NewCard>,
    /// An unused card token, or a card of a customer.
    pub card_token: Option<String>,
    /// An unused payment source token.
    pub payment_source_token: Option<String>,
    /// A customer, whose primary card pays.
    pub customer_token: Option<String>,
    /// ISO 4217 code; AUD if absent.
    #[schema(example = "AUD")]
    pub currency: Option<String>,
    /// Text for the bank statement instead of the default descriptor.
    #[validate(length(max = REFERENCE_LENGTH_MAX))]
    pub reference: Option<String>,
    /// At most 25 keys of at most 50 characters with values of at most 500.
    #[validate(custom(function = "rules::metadata"))]
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    pub metadata: Option<Map<String, Value>>,
}

/// An authorisation is asked of the acquirer as a charge is that waits for its capture.
impl From<NewAuthorisation> for NewCharge {
    fn from(new: NewAuthorisation) -> Self {
        Self {
            email: new.email,
            description: new.description,
            amount: new.amount,
            ip_address: new.ip_address,
            card: new.card,
            card_token: new.card_token,
            payment_source_token: new.payment_source_token,
            customer_token: new.customer_token,
            currency: new.currency,
            capture: Some(false),
            reference: new.reference,
            metadata: new.metadata,
            three_d_secure: None,
            platform_adjustment: None,
        }
    }
}

/// How much of an authorisation is captured.
#[params]
pub struct NewCapture {
    /// The amount in the authorisation's currency: at least the currency's minimum, at most the authorised one.
    #[schema(minimum = 50, example = 400)]
    pub amount: i64,
}
