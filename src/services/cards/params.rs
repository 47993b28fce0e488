//! Parameters of cards (specification, Cards), in the order of its list.

use base::secret::Secret;
use macros::params;
use validator::ValidationError;

use crate::limits::{NAME_LENGTH_MAX, TEXT_LENGTH_MAX};
use crate::params::values::INVALID;
use crate::params::{is_sent, rules};

/// A card, as the cardholder types it.
#[params]
pub struct NewCard {
    /// The card number, with or without spaces and hyphens.
    #[schema(pattern = "^[\\s-]*[0-9][0-9\\s-]*$", example = "4200000000000000")]
    pub number: Secret,
    /// The month in which the card expires.
    #[validate(range(min = 1, max = 12))]
    #[schema(example = 5)]
    pub expiry_month: i64,
    /// The year in which the card expires; two digits mean 20xx.
    #[validate(range(min = 0, max = 9999))]
    #[schema(example = 2030)]
    pub expiry_year: i64,
    /// The card verification code: three digits, or four for `american_express`.
    #[schema(pattern = "^ *[0-9]{3,4} *$", example = "123")]
    pub cvc: Secret,
    /// The name of the cardholder.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Roland Robot")]
    pub name: String,
    /// The first line of the cardholder's address.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "42 Sevenoaks St")]
    pub address_line1: String,
    /// The city of the address.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "Lathlain")]
    pub address_city: String,
    /// The country of the address: its name, or its ISO 3166-1 code of two letters.
    #[validate(length(max = TEXT_LENGTH_MAX), custom(function = "country"))]
    #[schema(example = "Australia")]
    pub address_country: String,
    /// The second line of the address; none if absent.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    pub address_line2: Option<String>,
    /// The postcode of the address; none if absent.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "6454")]
    pub address_postcode: Option<String>,
    /// The state of the address; none if absent.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "WA")]
    pub address_state: Option<String>,
}

/// Two characters must be a code, unless they are letters of another script: 日本 is a name, as longer text is. Accepts blank text.
fn country(text: &str) -> Result<(), ValidationError> {
    let text = text.trim();
    let known = match text.chars().count() {
        1 => false,
        2 if text.chars().all(|letter| letter.is_alphabetic() && !letter.is_ascii()) => true,
        2 => rust_iso3166::from_alpha2(&text.to_ascii_uppercase()).is_some(),
        _ => true,
    };
    rules::check(known, INVALID)
}

/// What the endpoints of browsers may carry instead of Basic credentials.
#[params]
pub struct BrowserKey {
    /// The publishable API key, from a browser or a mobile application.
    pub publishable_api_key: Option<Secret>,
}

/// Names a card that was stored before.
#[params]
pub struct StoredCard {
    /// An unused card token, or one of the customer's.
    pub card_token: Option<String>,
}

/// The fault of `card` if not exactly one way to pay is named.
pub const EXACTLY_ONE_PAYER: &str =
    "Exactly one of card, card_token, payment_source_token or customer_token is required";

/// Checks that exactly one way to pay is named. An invalid one counts as named.
pub fn one_payer(card: Option<&NewCard>, tokens: [&Option<String>; 3]) -> Result<(), ValidationError> {
    let named = tokens.iter().filter(|token| is_sent(token.as_deref())).count() + usize::from(card.is_some());
    rules::check_all(named == 1, "card", EXACTLY_ONE_PAYER, &[])
}

/// A network token, as the card network has issued it.
#[params]
pub struct NewNetworkToken {
    /// The number of the network token, with or without spaces and hyphens.
    #[schema(pattern = "^[\\s-]*[0-9][0-9\\s-]*$", example = "4200000000000000")]
    pub number: Secret,
    /// The name of the network, which is shown as it was sent.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "visa")]
    pub network_type: String,
    /// The month in which the network token expires.
    #[validate(range(min = 1, max = 12))]
    #[schema(example = 5)]
    pub expiry_month: i64,
    /// The year in which the network token expires; two digits mean 20xx.
    #[validate(range(min = 0, max = 9999))]
    #[schema(example = 2030)]
    pub expiry_year: i64,
    /// The electronic commerce indicator; none if absent.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "printable"))]
    #[schema(example = "05")]
    pub eci: Option<String>,
    /// The proof of the network, which is good for one payment.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "AgAAAAAABk4DWZ4C28yUQAAAAAA=")]
    pub cryptogram: Secret,
}

/// An indicator is digits; a line end would end it where it is kept.
fn printable(text: &str) -> Result<(), ValidationError> {
    rules::check(!text.chars().any(char::is_control), INVALID)
}
