//! Deposit (specification, Deposit).

use entity::{Currency, DepositToken, Timestamp, deposit};
use macros::view;

/// Money that arrived from outside the service.
#[view(of(deposit::Model))]
pub struct Deposit {
    /// The deposit's token, `dpo_...`.
    pub token: DepositToken,
    /// The amount in cents, as a text of digits.
    #[schema(pattern = "^[0-9]+$", example = "50000")]
    #[shows(row.amount.to_string())]
    pub amount: String,
    /// The currency of the amount, an ISO 4217 code.
    #[shows(Currency::Aud)]
    currency: Currency,
    /// The text of the sender.
    #[schema(example = "Direct credit")]
    narration: String,
    /// The time at which the money becomes available.
    pub available_at: Timestamp,
}
