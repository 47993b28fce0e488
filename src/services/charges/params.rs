//! Parameters of charges (specification, Charges), in the order of its lists.

use base::secret::Secret;
use macros::params;
use serde::Deserialize;
use serde_json::{Map, Value};
use validator::{Validate, ValidationError};

use crate::limits::{NAME_LENGTH_MAX, REFERENCE_LENGTH_MAX, TEXT_LENGTH_MAX};
use crate::params::values::BLANK;
use crate::params::{HttpUrl, is_sent, non_blank, rules};
use crate::services::cards::params::{NewCard, one_payer};

/// A charge to create. Exactly one of `card`, `card_token`, `payment_source_token` and `customer_token` pays.
#[params]
#[validate(schema(function = "one_payer_of_charge", skip_on_field_errors = false))]
pub struct NewCharge {
    /// The e-mail address of the purchaser.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::email"))]
    #[schema(format = Email, example = "roland@example.com")]
    pub email: String,
    /// What is bought, for your own records and searches.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "test charge")]
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
    /// Whether the money is taken at once, which is meant if it is absent, or reserved to be captured later.
    pub capture: Option<bool>,
    /// The text on the cardholder's statement; the default descriptor if absent.
    #[validate(length(max = REFERENCE_LENGTH_MAX))]
    pub reference: Option<String>,
    /// Your own keys and values: at most 25 keys of at most 50 characters with values of at most 500; none if absent.
    #[validate(custom(function = "rules::metadata"))]
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>)]
    pub metadata: Option<Map<String, Value>>,
    /// Lets the cardholder verify the payment first, or gives the results of a verification made elsewhere; the payment is not verified
    /// if it is absent.
    #[validate(nested)]
    pub three_d_secure: Option<NewThreeDSecure>,
    /// The share that is withheld for the platform; none is if it is absent.
    #[validate(nested)]
    pub platform_adjustment: Option<NewPlatformAdjustment>,
}

fn one_payer_of_charge(new: &NewCharge) -> Result<(), ValidationError> {
    one_payer(new.card.as_ref(), [&new.card_token, &new.payment_source_token, &new.customer_token])
}

/// How the cardholder verifies the payment. If any of the first three fields is given, `enabled` and `callback_url` are required,
/// unless `enabled` is false.
#[params]
#[expect(clippy::duplicated_attributes, reason = "each rule says for itself when it counts")]
#[validate(schema(function = "is_three_d_secure_decided", skip_on_field_errors = false))]
#[validate(schema(function = "is_three_d_secure_returnable", skip_on_field_errors = false))]
pub struct NewThreeDSecure {
    /// Whether the cardholder must verify the payment; not if absent.
    #[schema(example = true)]
    pub enabled: Option<bool>,
    /// The URL to which the cardholder returns, with `session_token` added to its query; required if `enabled` is given.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::http_url"))]
    #[schema(example = "https://shop.example.com/verified")]
    pub callback_url: Option<HttpUrl>,
    /// Whether the card is charged even if it does not offer 3-D Secure; not if absent.
    pub fallback_ok: Option<bool>,
    /// The protocol version of a verification made elsewhere; absent if there was none.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub version: Option<String>,
    /// The electronic commerce indicator of a verification made elsewhere; absent if there was none.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub eci: Option<String>,
    /// The authentication value of a verification made elsewhere; absent if there was none.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub cavv: Option<Secret>,
    /// The transaction id of a verification made elsewhere; absent if there was none.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub transaction_id: Option<String>,
}

impl NewThreeDSecure {
    /// Returns whether the cardholder must verify the payment, or somebody who does not say so seems to want it. Results of a
    /// verification made elsewhere start none.
    pub fn is_wanted(&self) -> bool {
        let is_described = non_blank(self.callback_url.as_deref()).is_some() || self.fallback_ok.is_some();
        self.enabled.unwrap_or(is_described)
    }
}

fn is_three_d_secure_decided(new: &NewThreeDSecure) -> Result<(), ValidationError> {
    rules::check_all(!new.is_wanted() || new.enabled.is_some(), "enabled", BLANK, &[])
}

fn is_three_d_secure_returnable(new: &NewThreeDSecure) -> Result<(), ValidationError> {
    rules::check_all(!new.is_wanted() || is_sent(new.callback_url.as_deref()), "callback_url", BLANK, &[])
}

/// The share of a charge that is withheld for the platform.
#[params]
pub struct NewPlatformAdjustment {
    /// The share in the base unit of the charge's currency.
    #[validate(range(min = 1))]
    #[schema(example = 10)]
    pub amount: i64,
    /// The currency of the charge, which is meant if it is absent; no other is accepted.
    #[schema(min_length = 3, max_length = 3, example = "AUD")]
    pub currency: Option<String>,
}

/// How much of a charge is captured.
#[params]
pub struct Capture {
    /// The authorised amount, because only the whole can be captured; it is meant if it is absent.
    // Text, because whatever is not exactly the amount has an error of its own.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    pub amount: Option<String>,
}

/// The session to verify.
#[derive(Deserialize, Validate)]
pub struct Verify {
    /// `se_...`; whatever is none is unknown.
    pub session_token: Option<String>,
}
