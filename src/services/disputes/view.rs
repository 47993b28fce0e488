//! Dispute (specification, Dispute).

use std::fmt;

use entity::dispute::{self, DisputeCategory, DisputeStatus};
use entity::evidence::EvidenceKind;
use entity::{Currency, DisputeToken, Timestamp};
use macros::view;

use crate::services::charges::view::Charge;

/// A cardholder's objection to a charge.
#[view]
pub struct Dispute {
    /// The dispute's token, `dis_...`.
    token: DisputeToken,
    /// The reason of the dispute.
    category: DisputeCategory,
    /// How far the dispute is.
    status: DisputeStatus,
    /// The disputed amount in the currency's base unit.
    #[schema(example = 400)]
    amount: i64,
    /// The currency of the amount, an ISO 4217 code.
    currency: Currency,
    /// The disputed charge.
    charge: Charge,
    /// The time until which evidence may be submitted.
    evidence_required_by: Timestamp,
    /// The kinds of evidence that the network considers.
    #[schema(value_type = Vec<EvidenceKind>)]
    relevant_evidence: &'static [EvidenceKind],
    /// The time at which the dispute arrived.
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
