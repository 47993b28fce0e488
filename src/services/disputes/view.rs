//! Dispute (specification, Dispute).

use std::fmt;

use entity::dispute::{self, DisputeCategory, DisputeStatus};
use entity::evidence::EvidenceKind;
use entity::{Currency, DisputeToken, Timestamp};
use macros::view;

use crate::services::charges::view::Charge;

/// A dispute of a charge.
#[view]
pub struct Dispute {
    /// `dis_...`
    token: DisputeToken,
    /// `general`
    #[schema(value_type = String, example = "general")]
    category: DisputeCategory,
    /// `evidence_required`, `evidence_under_review`, `won`, `lost`, `accepted`, `expired`, `cancelled`, `resolved`,
    /// `arbitration_under_review`, `arbitration_won` or `arbitration_lost`.
    #[schema(value_type = String, example = "evidence_required")]
    status: DisputeStatus,
    /// The disputed amount in the currency's base unit.
    #[schema(example = 400)]
    amount: i64,
    /// ISO 4217 code.
    currency: Currency,
    /// The disputed charge.
    charge: Charge,
    /// The deadline for evidence.
    evidence_required_by: Timestamp,
    /// The kinds of evidence that the network considers.
    #[schema(value_type = Vec<String>)]
    relevant_evidence: &'static [EvidenceKind],
    /// The time of its arrival.
    received_at: Timestamp,
}

impl fmt::Display for Dispute {
    /// Formats a line for an operator.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token, status, amount, charge, evidence_required_by, .. } = self;
        let (status, currency, charge) = (status.code(), self.currency.code(), charge.token());
        write!(
            f,
            "{token}: {status}, {amount} {currency} of {charge}, evidence required by {evidence_required_by}"
        )
    }
}

impl Dispute {
    /// Returns a dispute of a charge.
    pub fn new(row: &dispute::Model, charge: Charge) -> Self {
        Self {
            token: row.id,
            category: row.category,
            status: row.status,
            amount: row.amount,
            currency: row.currency,
            charge,
            evidence_required_by: row.evidence_required_by,
            relevant_evidence: EvidenceKind::ALL,
            received_at: row.received_at,
        }
    }
}
