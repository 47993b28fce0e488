//! Dispute activity entry (specification, Dispute).

use entity::dispute::{self, DisputeCategory};
use entity::dispute_activity::{self, ActivityKind, ActivityObject, ActivityType, LedgerAnnotation};
use entity::{Currency, Timestamp, charge};
use macros::view;

/// Something that happened to a dispute, its money or its charge.
#[view]
pub struct Activity {
    /// What happened to the dispute, its money or its charge.
    r#type: ActivityType,
    /// The kind of record that the activity is about.
    object: ActivityObject,
    /// The token of the dispute or the charge; absent for a ledger entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "dis_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: Option<String>,
    /// The new status of the dispute; always `pending_transfer` for a ledger entry, and `succeeded` for a charge.
    #[schema(example = "evidence_required")]
    status: &'static str,
    /// The time at which it happened.
    created_at: Timestamp,
    /// The dispute, ledger entry or charge that the activity is about.
    record: ActivityRecord,
}

/// The dispute, ledger entry or charge of an activity.
#[view]
pub struct ActivityRecord {
    /// Why money moved; absent unless this is a ledger entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    annotation: Option<LedgerAnnotation>,
    /// The amount in the currency's base unit; negative if the money left the account.
    #[schema(example = 400)]
    amount: i64,
    /// The currency of the amount, an ISO 4217 code.
    currency: Currency,
    /// The reason of the dispute; absent unless this is a dispute.
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<DisputeCategory>,
}

impl Activity {
    pub fn of_dispute(row: &dispute::Model, entry: &dispute_activity::Model) -> Self {
        let about_dispute = |r#type| Self {
            r#type,
            object: ActivityObject::Dispute,
            token: Some(row.id.to_string()),
            status: entry.status.unwrap_or(row.status).code(),
            created_at: entry.created_at,
            record: ActivityRecord {
                annotation: None,
                // An arbitration reduces the dispute to what is not refunded; what was before it stays.
                amount: entry.amount.unwrap_or(row.amount),
                currency: row.currency,
                category: Some(row.category),
            },
        };
        let about_money = |annotation| Self {
            r#type: ActivityType::LedgerEntryCreated,
            object: ActivityObject::LedgerEntry,
            token: None,
            status: "pending_transfer",
            created_at: entry.created_at,
            record: ActivityRecord {
                annotation: Some(annotation),
                amount: entry.amount.unwrap_or_default(),
                // The ledger's currency.
                currency: Currency::Aud,
                category: None,
            },
        };
        match entry.kind {
            ActivityKind::Created => about_dispute(ActivityType::DisputeCreated),
            ActivityKind::Updated => about_dispute(ActivityType::DisputeUpdated),
            ActivityKind::Recovery => about_money(LedgerAnnotation::ChargebackRecovery),
            ActivityKind::Fee => about_money(LedgerAnnotation::ChargebackFee),
        }
    }

    /// Returns the capture of the disputed charge.
    pub fn of_charge(charge: &charge::Model) -> Self {
        Self {
            r#type: ActivityType::ChargeCaptured,
            object: ActivityObject::Charge,
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
