//! Dispute activity entry (specification, Dispute).

use entity::dispute_activity::{self, ActivityKind};
use entity::{Currency, Timestamp, charge, dispute};
use macros::view;

/// An event of a dispute, its money or its charge.
#[view]
pub struct Activity {
    /// `dispute.created`, `dispute.updated`, `ledger_entry.created` or `charge.captured`.
    #[schema(example = "dispute.created")]
    r#type: &'static str,
    /// `dispute`, `ledger_entry` or `charge`.
    #[schema(example = "dispute")]
    object: &'static str,
    /// The token of the dispute or the charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "dis_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: Option<String>,
    /// The dispute's new status; `pending_transfer` for a ledger entry, `succeeded` for a charge.
    #[schema(example = "evidence_required")]
    status: &'static str,
    /// The time.
    created_at: Timestamp,
    /// The subject.
    record: ActivityRecord,
}

/// The subject of an activity.
#[view]
pub struct ActivityRecord {
    /// For a ledger entry: `chargeback_recovery` or `chargeback_fee`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "chargeback_fee")]
    annotation: Option<&'static str>,
    /// The amount in the currency's base unit; debits of the ledger are negative.
    #[schema(example = 400)]
    amount: i64,
    /// ISO 4217 code.
    currency: Currency,
    /// For a dispute: `general`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "general")]
    category: Option<&'static str>,
}

impl Activity {
    /// Returns an entry of a dispute.
    pub fn of_dispute(row: &dispute::Model, entry: &dispute_activity::Model) -> Self {
        let about_dispute = |r#type| Self {
            r#type,
            object: "dispute",
            token: Some(row.id.to_string()),
            status: entry.status.unwrap_or(row.status).code(),
            created_at: entry.created_at,
            record: ActivityRecord {
                annotation: None,
                // An arbitration reduces the dispute to what is not refunded; what was before it stays.
                amount: entry.amount.unwrap_or(row.amount),
                currency: row.currency,
                category: Some(row.category.code()),
            },
        };
        match entry.kind {
            ActivityKind::Created => about_dispute("dispute.created"),
            ActivityKind::Updated => about_dispute("dispute.updated"),
            ActivityKind::Recovery | ActivityKind::Fee => Self {
                r#type: "ledger_entry.created",
                object: "ledger_entry",
                token: None,
                status: "pending_transfer",
                created_at: entry.created_at,
                record: ActivityRecord {
                    annotation: Some(entry.kind.code()),
                    amount: entry.amount.unwrap_or_default(),
                    // The ledger's currency.
                    currency: Currency::Aud,
                    category: None,
                },
            },
        }
    }

    /// Returns the capture of the disputed charge.
    pub fn of_charge(charge: &charge::Model) -> Self {
        Self {
            r#type: "charge.captured",
            object: "charge",
            token: Some(charge.id.to_string()),
            status: "succeeded",
            created_at: charge.captured_at.unwrap_or(charge.created_at),
            record: ActivityRecord {
                annotation: None,
                amount: charge.amount,
                currency: charge.currency,
                category: None,
            },
        }
    }
}
