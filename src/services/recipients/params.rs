//! Parameters of recipients (specification, Recipients), in the order of its lists.

use macros::params;
use validator::Validate as _;

use crate::limits::NAME_LENGTH_MAX;
use crate::params::rules;
use crate::services::bank_accounts::params::NewBankAccount;

/// A recipient to be made. Exactly one of bank_account and bank_account_token is required.
#[params]
pub struct NewRecipient {
    /// E-mail address; need not be unique.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::email"))]
    #[schema(example = "roland@example.com")]
    pub email: String,
    /// A bank account given inline.
    #[validate(nested)]
    pub bank_account: Option<NewBankAccount>,
    /// An unused bank account token.
    pub bank_account_token: Option<String>,
    /// What it is called.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Mr Roland Robot")]
    pub name: Option<String>,
}

/// Changes of a recipient; at most one of bank_account and bank_account_token.
#[params]
pub struct RecipientChanges {
    /// E-mail address; may not be cleared.
    #[serde(deserialize_with = "rules::optional_trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::not_blank"), custom(function = "rules::email"))]
    pub email: Option<String>,
    /// What it is called.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub name: Option<String>,
    /// A bank account given inline that replaces the old one.
    #[validate(nested)]
    pub bank_account: Option<NewBankAccount>,
    /// An unused bank account token that replaces the old one; the recipient's own changes nothing.
    pub bank_account_token: Option<String>,
}
