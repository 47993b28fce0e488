//! Parameters of cards (specification, Cards), in the order of its list.

use base::secret::Secret;
use macros::params;

use crate::limits::{NAME_LENGTH_MAX, TEXT_LENGTH_MAX};
use crate::params::rules;

/// A card as its holder gives it.
#[params]
pub struct NewCard {
    /// Card number.
    #[schema(example = "4200000000000000")]
    pub number: Secret,
    /// Month of expiry.
    #[validate(range(min = 1, max = 12))]
    #[schema(example = 5)]
    pub expiry_month: i64,
    /// Year of expiry; two digits are 20xx.
    #[validate(range(min = 0, max = 9999))]
    #[schema(example = 2030)]
    pub expiry_year: i64,
    /// Card verification code: three digits, four for american_express.
    #[schema(example = "123")]
    pub cvc: Secret,
    /// Cardholder.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Roland Robot")]
    pub name: String,
    /// First address line.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "42 Sevenoaks St")]
    pub address_line1: String,
    /// City.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "Lathlain")]
    pub address_city: String,
    /// Full country name or ISO 3166-1 two-letter code.
    #[validate(length(max = TEXT_LENGTH_MAX), custom(function = "country"))]
    #[schema(example = "Australia")]
    pub address_country: String,
    /// Second address line.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    pub address_line2: Option<String>,
    /// Postcode.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "6454")]
    pub address_postcode: Option<String>,
    /// State.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "WA")]
    pub address_state: Option<String>,
}

/// Two letters must be a code; longer text is a name. Accepts blank text.
fn country(text: &str) -> Result<(), validator::ValidationError> {
    let text = text.trim();
    let known = match text.chars().count() {
        1 => false,
        2 => rust_iso3166::from_alpha2(&text.to_ascii_uppercase()).is_some(),
        _ => true,
    };
    rules::check(known, "is not valid")
}

/// What the endpoints of browsers may carry instead of Basic credentials.
#[params]
pub struct BrowserKey {
    /// Instead of a secret key, from an insecure environment.
    pub publishable_api_key: Option<Secret>,
}

/// Names a card that was stored before.
#[params]
pub struct StoredCard {
    /// An unused card token, or one of the customer's.
    pub card_token: Option<String>,
}
