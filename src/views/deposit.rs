//! Deposit (specification, Deposit).

use entity::{Currency, DepositToken, Timestamp, deposit};
use macros::view;

/// Money that arrived from outside.
#[view]
pub struct Deposit {
    /// `dpo_...`
    pub token: DepositToken,
    /// Cents, as a string of digits.
    #[schema(pattern = "^[0-9]+$", example = "50000")]
    pub amount: String,
    /// ISO 4217 code.
    currency: Currency,
    /// What the sender wrote.
    #[schema(example = "Direct credit")]
    narration: String,
    /// When it raises the balance.
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
