//! Deposit (specification, Deposit).

use entity::{Currency, DepositToken, Timestamp, deposit};
use serde::Serialize;
use utoipa::ToSchema;

/// Money that arrived from outside.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Deposit {
    /// `dpo_...`
    #[schema(value_type = String, example = "dpo_AZqYv3rVcBKUQ1mHn7tKRw")]
    pub token: DepositToken,
    /// The amount in cents, as a string of digits.
    #[schema(pattern = "^[0-9]+$", example = "50000")]
    pub amount: String,
    /// ISO 4217 code.
    #[schema(value_type = String, min_length = 3, max_length = 3, example = "AUD")]
    currency: Currency,
    /// The sender's text.
    #[schema(example = "Direct credit")]
    narration: String,
    /// The time at which it raises the balance.
    #[schema(value_type = String, format = DateTime)]
    pub available_at: Timestamp,
}

impl From<deposit::Model> for Deposit {
    fn from(row: deposit::Model) -> Self {
        Self {
            token: row.id,
            amount: row.amount.to_string(),
            currency: Currency::Aud,
            narration: row.narration,
            available_at: row.available_at,
        }
    }
}
