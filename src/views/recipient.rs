//! Recipient (specification, Recipient).

use entity::{JsonText, RecipientToken, Timestamp, recipient};
use macros::view;

use super::bank_account::BankAccount;

/// Whom transfers pay.
#[view]
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

impl From<recipient::Model> for Recipient {
    fn from(row: recipient::Model) -> Self {
        Self {
            token: row.id,
            name: row.name,
            email: row.email,
            created_at: row.created_at,
            bank_account: row.bank_account,
        }
    }
}
