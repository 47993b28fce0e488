//! Parameters of charges (specification, Charges), in the order of its lists.

use base::secret::Secret;
use macros::params;
use serde::Deserialize;
use serde_json::{Map, Value};
use validator::Validate;

use crate::limits::{NAME_LENGTH_MAX, REFERENCE_LENGTH_MAX, TEXT_LENGTH_MAX};
use crate::params::{HttpUrl, rules};
use crate::services::cards::params::NewCard;

/// A charge to be made. Exactly one of card, card_token, payment_source_token and customer_token pays.
#[params]
pub struct NewCharge {
    /// The purchaser's e-mail address.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::email"))]
    #[schema(example = "roland@example.com")]
    pub email: String,
    /// What is bought.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "test charge")]
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
    /// Whether the money is taken at once (default), or authorised to be captured later.
    pub capture: Option<bool>,
    /// Text for the bank statement instead of the default descriptor.
    #[validate(length(max = REFERENCE_LENGTH_MAX))]
    pub reference: Option<String>,
    /// At most 25 keys of at most 50 characters with values of at most 500.
    #[validate(custom(function = "rules::metadata"))]
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    pub metadata: Option<Map<String, Value>>,
    /// Lets the cardholder verify the payment first; or the results of a verification made elsewhere.
    #[validate(nested)]
    pub three_d_secure: Option<NewThreeDSecure>,
    /// Withheld from the merchant's entitlement as the platform's revenue.
    #[validate(nested)]
    pub platform_adjustment: Option<NewPlatformAdjustment>,
}

/// 3-D Secure: if any of the first three is given, enabled and callback_url are required.
#[params]
pub struct NewThreeDSecure {
    /// Whether the cardholder must verify the payment.
    #[schema(example = true)]
    pub enabled: Option<bool>,
    /// The URL to which the cardholder returns, with session_token added to the query.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::http_url"))]
    #[schema(example = "https://shop.example.com/verified")]
    pub callback_url: Option<HttpUrl>,
    /// Whether to charge without 3-D Secure if the card does not offer it.
    pub fallback_ok: Option<bool>,
    /// An external verification's protocol version.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub version: Option<String>,
    /// An external verification's electronic commerce indicator.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub eci: Option<String>,
    /// An external verification's authentication value.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub cavv: Option<Secret>,
    /// An external verification's transaction id.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub transaction_id: Option<String>,
}

/// The platform's share.
#[params]
pub struct NewPlatformAdjustment {
    /// In the charge's currency.
    #[validate(range(min = 1))]
    #[schema(example = 10)]
    pub amount: i64,
    /// The charge's.
    #[schema(example = "AUD")]
    pub currency: Option<String>,
}

/// A capture.
#[params]
pub struct Capture {
    /// The authorised amount, or absent: only the whole can be captured.
    // Text, because whatever is not exactly the amount has an error of its own.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    pub amount: Option<String>,
}

/// Which 3-D Secure session is meant.
#[derive(Deserialize, Validate)]
pub struct Verify {
    /// `se_...`; whatever is none is unknown.
    pub session_token: Option<String>,
}
