//! Deposit (specification, Deposit).

use entity::{Currency, DepositToken, Timestamp, deposit};
use macros::view;

/// Money that arrived from outside.
#[view(of(deposit::Model))]
pub struct Deposit {
    /// `dpo_...`
    pub token: DepositToken,
    /// The amount in cents, as a string of digits.
    #[schema(pattern = "^[0-9]+$", example = "50000")]
    #[shows(row.amount.to_string())]
    pub amount: String,
    /// ISO 4217 code.
    #[shows(Currency::Aud)]
    currency: Currency,
    /// The sender's text.
    #[schema(example = "Direct credit")]
    narration: String,
    /// The time at which it raises the balance.
    pub available_at: Timestamp,
}
