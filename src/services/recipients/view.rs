//! Recipient (specification, Recipient).

use entity::{JsonText, RecipientToken, Timestamp, recipient};
use macros::view;

use crate::services::bank_accounts::view::BankAccount;

/// A recipient of transfers.
#[view(of(recipient::Model))]
pub struct Recipient {
    /// `rp_...`
    token: RecipientToken,
    /// The name.
    #[schema(example = "Mr Roland Robot")]
    name: Option<String>,
    /// E-mail address.
    #[schema(example = "roland@example.com")]
    email: String,
    /// Creation time.
    created_at: Timestamp,
    /// The bank account.
    #[schema(value_type = BankAccount)]
    bank_account: JsonText,
}
