//! Refund (specification, Refund).

use entity::refund::{self, RefundState};
use entity::{ChargeToken, Currency, RefundToken, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// A refund of a charge.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Refund {
    /// `rf_...`
    #[schema(value_type = String, example = "rf_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: RefundToken,
    /// Whether the cardholder gets the money; null while pending.
    #[schema(required)]
    success: Option<bool>,
    /// In the currency's base unit.
    #[schema(example = 100)]
    amount: i64,
    /// ISO 4217 code.
    #[schema(value_type = String, min_length = 3, max_length = 3, example = "AUD")]
    currency: Currency,
    /// The refunded charge.
    #[schema(value_type = String, example = "ch_AZqYv3rVcBKUQ1mHn7tKRw")]
    charge: ChargeToken,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The reason of failure.
    #[schema(required)]
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
