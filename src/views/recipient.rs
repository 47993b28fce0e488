//! Recipient (specification, Recipient).

use entity::{JsonText, RecipientToken, Timestamp, recipient};
use macros::view;

use super::bank_account::BankAccount;

/// Whom transfers pay.
#[view(of(recipient::Model))]
pub struct Recipient {
    /// `rp_...`
    token: RecipientToken,
    /// What it is called.
    #[schema(example = "Mr Roland Robot")]
    name: Option<String>,
    /// E-mail address.
    #[schema(example = "roland@example.com")]
    email: String,
    /// When it was made.
    created_at: Timestamp,
    /// Where it is paid.
    #[schema(value_type = BankAccount)]
    bank_account: JsonText,
}
