//! Parameters of recipients (specification, Recipients), in the order of its lists.

use macros::params;
use validator::{Validate as _, ValidationError};

use crate::limits::NAME_LENGTH_MAX;
use crate::params::values::BLANK;
use crate::params::{is_sent, non_blank, rules};
use crate::services::bank_accounts::params::NewBankAccount;

/// A recipient to create. Exactly one of `bank_account` and `bank_account_token` is required.
#[params]
#[validate(schema(function = "one_bank_account", skip_on_field_errors = false))]
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

const ONE_BANK_ACCOUNT: &str = "Exactly one of bank_account or bank_account_token is required";

/// Checks that a bank account is named, and only one. An invalid token is a fault of its own, not a blank one.
fn one_bank_account(new: &NewRecipient) -> Result<(), ValidationError> {
    let (bank_account, token) = (new.bank_account.as_ref(), new.bank_account_token.as_deref());
    rules::check_all(bank_account.is_some() || is_sent(token), "bank_account", BLANK, &[])?;
    one_at_most(bank_account, token)
}

fn one_new_bank_account(changes: &RecipientChanges) -> Result<(), ValidationError> {
    one_at_most(changes.bank_account.as_ref(), changes.bank_account_token.as_deref())
}

fn one_at_most(bank_account: Option<&NewBankAccount>, token: Option<&str>) -> Result<(), ValidationError> {
    let is_one = bank_account.is_none() || non_blank(token).is_none();
    rules::check_all(is_one, "bank_account", ONE_BANK_ACCOUNT, &[])
}

/// Changes of a recipient. At most one of `bank_account` and `bank_account_token` is accepted.
#[params]
#[validate(schema(function = "one_new_bank_account", skip_on_field_errors = false))]
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
