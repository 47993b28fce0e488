//! Parameters of authorisations (specification, Authorisations), in the order of its lists.

use macros::params;
use serde_json::{Map, Value};
use validator::{Validate as _, ValidationError};

use crate::limits::{NAME_LENGTH_MAX, REFERENCE_LENGTH_MAX, TEXT_LENGTH_MAX};
use crate::params::rules;
use crate::services::cards::params::{NewCard, one_payer};
use crate::services::charges::params::NewCharge;

/// An authorisation to create. Exactly one of `card`, `card_token`, `payment_source_token` and `customer_token` pays.
#[params]
#[validate(schema(function = "one_payer_of_authorisation", skip_on_field_errors = false))]
pub struct NewAuthorisation {
    /// The e-mail address of the purchaser.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::email"))]
    #[schema(format = Email, example = "roland@example.com")]
    pub email: String,
    /// What is bought, for your own records and searches.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "test authorisation")]
    pub description: String,
    /// The amount in the currency's base unit, such as cents; every currency has a least amount.
    #[schema(minimum = 50, example = 400)]
    pub amount: i64,
    /// The IPv4 or IPv6 address of the purchaser.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(custom(function = "rules::ip_address"))]
    #[schema(example = "203.192.1.172")]
    pub ip_address: String,
    /// The card that pays; required if none of the other three ways to pay is given.
    #[validate(nested)]
    pub card: Option<NewCard>,
    /// The token of the card that pays, `card_...`: an unused one, or the card of a customer; required if none of the other three
    /// ways to pay is given.
    pub card_token: Option<String>,
    /// The token of the payment source that pays, `ps_...`, which must be unused; required if none of the other three ways to pay
    /// is given.
    pub payment_source_token: Option<String>,
    /// The token of the customer whose primary card pays, `cus_...`; required if none of the other three ways to pay is given.
    pub customer_token: Option<String>,
    /// The currency of the amount, an ISO 4217 code; AUD if absent.
    #[schema(min_length = 3, max_length = 3, example = "AUD")]
    pub currency: Option<String>,
    /// The text on the cardholder's statement; the default descriptor if absent.
    #[validate(length(max = REFERENCE_LENGTH_MAX))]
    pub reference: Option<String>,
    /// Your own keys and values: at most 25 keys of at most 50 characters with values of at most 500; none if absent.
    #[validate(custom(function = "rules::metadata"))]
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    pub metadata: Option<Map<String, Value>>,
}

fn one_payer_of_authorisation(new: &NewAuthorisation) -> Result<(), ValidationError> {
    one_payer(new.card.as_ref(), [&new.card_token, &new.payment_source_token, &new.customer_token])
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
    /// The amount in the base unit of the authorisation's currency, at most the authorised one; every currency has a least amount.
    #[schema(minimum = 50, example = 400)]
    pub amount: i64,
}
