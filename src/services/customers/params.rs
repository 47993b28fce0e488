//! Parameters of customers (specification, Customers), in the order of its lists.

use macros::params;
use validator::{Validate as _, ValidationError};

use crate::limits::{NAME_LENGTH_MAX, NOTES_LENGTH_MAX, TEXT_LENGTH_MAX};
use crate::params::values::BLANK;
use crate::params::{is_sent, non_blank, rules};
use crate::services::cards::params::NewCard;

/// A customer to create. Exactly one of `card` and `card_token` is required.
#[params]
#[validate(schema(function = "one_card", skip_on_field_errors = false))]
pub struct NewCustomer {
    /// The e-mail address, which need not be unique.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::email"))]
    #[schema(format = Email, example = "roland@example.com")]
    pub email: String,
    /// The customer's card; required if `card_token` is absent.
    #[validate(nested)]
    pub card: Option<NewCard>,
    /// The token of an unused card, `card_...`; required if `card` is absent.
    pub card_token: Option<String>,
    /// The given name; none if absent.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Roland")]
    pub first_name: Option<String>,
    /// The family name; none if absent.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Robot")]
    pub last_name: Option<String>,
    /// The telephone number; none if absent.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    pub phone_number: Option<String>,
    /// The company; none if absent.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub company: Option<String>,
    /// Your own notes; none if absent.
    #[validate(length(max = NOTES_LENGTH_MAX))]
    pub notes: Option<String>,
}

/// The fault of `card` if both ways to name one are used.
pub const ONE_CARD: &str = "Exactly one of card or card_token is required";

/// Checks that a card is named, and only one. An invalid token is a fault of its own, not a blank one.
fn one_card(new: &NewCustomer) -> Result<(), ValidationError> {
    let token = new.card_token.as_deref();
    rules::check_all(new.card.is_some() || is_sent(token), "card", BLANK, &[])?;
    rules::check_all(new.card.is_none() || non_blank(token).is_none(), "card", ONE_CARD, &[])
}

/// Changes of a customer. At most one of `card`, `card_token` and `primary_card_token` is accepted.
#[params]
pub struct CustomerChanges {
    /// The new e-mail address, which may not be empty; the old one stays if it is absent.
    #[serde(deserialize_with = "rules::optional_trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::not_blank"), custom(function = "rules::email"))]
    #[schema(format = Email)]
    pub email: Option<String>,
    /// The new given name, or an empty text for none; the old one stays if it is absent.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub first_name: Option<String>,
    /// The new family name, or an empty text for none; the old one stays if it is absent.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub last_name: Option<String>,
    /// The new telephone number, or an empty text for none; the old one stays if it is absent.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    pub phone_number: Option<String>,
    /// The new company, or an empty text for none; the old one stays if it is absent.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub company: Option<String>,
    /// The new notes, or an empty text for none; the old ones stay if they are absent.
    #[validate(length(max = NOTES_LENGTH_MAX))]
    pub notes: Option<String>,
    /// A new card, which replaces the primary card: that is removed permanently; the primary card stays if it is absent.
    #[validate(nested)]
    pub card: Option<NewCard>,
    /// The token of a card of the customer, or of an unused one, which replaces the primary card: that is removed permanently; the
    /// primary card stays if it is absent.
    pub card_token: Option<String>,
    /// The token of a card of the customer, or of an unused one, which becomes the primary card: the old one stays a card of the customer;
    /// the primary card stays if it is absent.
    pub primary_card_token: Option<String>,
}
