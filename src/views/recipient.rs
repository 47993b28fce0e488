//! Recipient (specification, Recipient).

use entity::{JsonText, RecipientToken, Timestamp, recipient};
use serde::Serialize;
use utoipa::ToSchema;

use super::bank_account::BankAccount;

/// A recipient of transfers.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Recipient {
    /// `rp_...`
    #[schema(value_type = String, example = "rp_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: RecipientToken,
    /// The name.
    #[schema(required, example = "Mr Roland Robot")]
    name: Option<String>,
    /// E-mail address.
    #[schema(example = "roland@example.com")]
    email: String,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The bank account.
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
