//! Parameters of customers (specification, Customers), in the order of its lists.

use macros::params;
use validator::Validate as _;

use crate::limits::{NAME_LENGTH_MAX, NOTES_LENGTH_MAX, TEXT_LENGTH_MAX};
use crate::params::rules;
use crate::services::cards::params::NewCard;

/// A customer to be made, with a card given inline or stored before.
#[params]
pub struct NewCustomer {
    /// E-mail address; need not be unique.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::email"))]
    #[schema(example = "roland@example.com")]
    pub email: String,
    /// A card given inline.
    #[validate(nested)]
    pub card: Option<NewCard>,
    /// An unused card token.
    pub card_token: Option<String>,
    /// Given name.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Roland")]
    pub first_name: Option<String>,
    /// Family name.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Robot")]
    pub last_name: Option<String>,
    /// Telephone number.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    pub phone_number: Option<String>,
    /// Company.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub company: Option<String>,
    /// Free text.
    #[validate(length(max = NOTES_LENGTH_MAX))]
    pub notes: Option<String>,
}

/// Changes of a customer; at most one of card, card_token and primary_card_token.
#[params]
pub struct CustomerChanges {
    /// E-mail address; may not be cleared.
    #[serde(deserialize_with = "rules::optional_trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::not_blank"), custom(function = "rules::email"))]
    pub email: Option<String>,
    /// Given name.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub first_name: Option<String>,
    /// Family name.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub last_name: Option<String>,
    /// Telephone number.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    pub phone_number: Option<String>,
    /// Company.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub company: Option<String>,
    /// Free text.
    #[validate(length(max = NOTES_LENGTH_MAX))]
    pub notes: Option<String>,
    /// A new card that replaces the primary card, which is removed permanently.
    #[validate(nested)]
    pub card: Option<NewCard>,
    /// A stored card (the customer's or unused) that replaces the primary card, which is removed permanently.
    pub card_token: Option<String>,
    /// A stored card (the customer's or unused) that becomes the primary one; the old one stays.
    pub primary_card_token: Option<String>,
}
