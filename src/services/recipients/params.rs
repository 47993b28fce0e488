//! Parameters of recipients (specification, Recipients), in the order of its lists.

use macros::params;
use validator::Validate as _;

use crate::limits::NAME_LENGTH_MAX;
use crate::params::rules;
use crate::services::bank_accounts::params::NewBankAccount;

/// A recipient to create. Exactly one of `bank_account` and `bank_account_token` is required.
#[params]
pub struct NewRecipient {
    /// The e-mail address, which need not be unique.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::email"))]
    #[schema(format = Email, example = "roland@example.com")]
    pub email: String,
    /// The bank account; required if `bank_account_token` is absent.
    #[validate(nested)]
    pub bank_account: Option<NewBankAccount>,
    /// The token of an unused bank account, `ba_...`; required if `bank_account` is absent.
    pub bank_account_token: Option<String>,
    /// The name of the recipient; none if absent.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Mr Roland Robot")]
    pub name: Option<String>,
}

/// Changes of a recipient. At most one of `bank_account` and `bank_account_token` is accepted.
#[params]
pub struct RecipientChanges {
    /// The new e-mail address, which may not be empty; the old one stays if it is absent.
    #[serde(deserialize_with = "rules::optional_trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::not_blank"), custom(function = "rules::email"))]
    #[schema(format = Email)]
    pub email: Option<String>,
    /// The new name, or an empty text for none; the old one stays if it is absent.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub name: Option<String>,
    /// A bank account that replaces the old one, which stays if this is absent.
    #[validate(nested)]
    pub bank_account: Option<NewBankAccount>,
    /// The token of an unused bank account that replaces the old one, `ba_...`; the old one stays if this is absent, or its own token.
    pub bank_account_token: Option<String>,
}
