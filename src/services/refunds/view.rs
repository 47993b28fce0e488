//! Refund (specification, Refund).

use entity::refund::{self, RefundState};
use entity::{ChargeToken, Currency, RefundToken, Timestamp};
use macros::view;

/// A refund of a charge.
#[view]
pub struct Refund {
    /// `rf_...`
    token: RefundToken,
    /// Whether the cardholder gets the money; null while pending.
    success: Option<bool>,
    /// In the currency's base unit.
    #[schema(example = 100)]
    amount: i64,
    /// ISO 4217 code.
    currency: Currency,
    /// The refunded charge.
    charge: ChargeToken,
    /// Creation time.
    created_at: Timestamp,
    /// The reason of failure.
    error_message: Option<&'static str>,
    /// `Pending`, `Success`, or the reason of failure.
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
