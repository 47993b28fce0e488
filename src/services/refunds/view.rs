//! Refund (specification, Refund).

use entity::refund::{self, RefundState};
use entity::{ChargeToken, Currency, RefundToken, Timestamp};
use macros::view;

/// A refund of a charge.
#[view]
pub struct Refund {
    /// The refund's token, `rf_...`.
    token: RefundToken,
    /// Whether the cardholder gets the money; null while the refund is pending.
    success: Option<bool>,
    /// The refunded amount in the currency's base unit.
    #[schema(example = 100)]
    amount: i64,
    /// The currency of the charge, an ISO 4217 code.
    currency: Currency,
    /// The token of the refunded charge, `ch_...`.
    charge: ChargeToken,
    /// The time of the refund's creation.
    created_at: Timestamp,
    /// A sentence that says why the refund failed; null unless it did.
    error_message: Option<&'static str>,
    /// A word for people: `Pending`, `Success`, or a sentence that says why the refund failed.
    #[schema(example = "Pending")]
    status_message: &'static str,
}

/// The message of a failed refund (`docs/decisions.md`, 168).
const DECLINED: &str = "The refund was declined";

impl From<refund::Model> for Refund {
    fn from(row: refund::Model) -> Self {
        let (success, error_message, status_message) = match row.state {
            RefundState::Submitting | RefundState::Accepted => (None, None, "Pending"),
            RefundState::Succeeded => (Some(true), None, "Success"),
            RefundState::Failed => (Some(false), Some(DECLINED), DECLINED),
        };
        Self {
            token: row.id,
            success,
            amount: row.amount,
            currency: row.currency,
            charge: row.charge_id,
            created_at: row.created_at,
            error_message,
            status_message,
        }
    }
}
