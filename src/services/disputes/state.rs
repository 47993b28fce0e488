//! The states of a dispute: one total table of which status may follow which.

use std::fmt::Write;

use entity::Timestamp;
use entity::dispute::{self, DisputeStatus};
use entity::event::EventType;

use crate::error::ErrorCode;
use crate::services::state_table;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisputeTransition {
    pub to: DisputeStatus,
    /// Whether the cardholder then has recovery and fee; `None` leaves them where they are (`docs/decisions.md`, 209).
    pub charged_back: Option<bool>,
    pub emits: EventType,
}

/// Returns the status at an instant of the account's clock, the earliest that it may be: a dispute not answered in time is
/// expired, even if no worker has processed it (`docs/decisions.md`, 212 and 405).
pub fn effective_status(earliest: Timestamp, row: &dispute::Model) -> DisputeStatus {
    match row.expires_at {
        Some(end) if end <= earliest => DisputeStatus::Expired,
        Some(_) | None => row.status,
    }
}

/// Returns the transition between two statuses; `None` if it is not legal.
pub fn next(from: DisputeStatus, to: DisputeStatus) -> Option<DisputeTransition> {
    use DisputeStatus::{
        Accepted, ArbitrationLost, ArbitrationUnderReview, ArbitrationWon, Cancelled, EvidenceRequired,
        EvidenceUnderReview, Expired, Lost, Resolved, Won,
    };

    state_table::reach("dispute", from, to);
    let legal = match from {
        EvidenceRequired => match to {
            EvidenceUnderReview | Accepted | Expired | Cancelled | Resolved => true,
            EvidenceRequired | Won | Lost | ArbitrationUnderReview | ArbitrationWon | ArbitrationLost => {
                false
            }
        },
        EvidenceUnderReview => match to {
            Won | Lost | Cancelled | Resolved | ArbitrationUnderReview => true,
            EvidenceRequired | EvidenceUnderReview | Accepted | Expired | ArbitrationWon
            | ArbitrationLost => false,
        },
        Won | Lost => match to {
            ArbitrationUnderReview => true,
            EvidenceRequired | EvidenceUnderReview | Won | Lost | Accepted | Expired | Cancelled
            | Resolved | ArbitrationWon | ArbitrationLost => false,
        },
        ArbitrationUnderReview => match to {
            ArbitrationWon | ArbitrationLost => true,
            EvidenceRequired
            | EvidenceUnderReview
            | Won
            | Lost
            | Accepted
            | Expired
            | Cancelled
            | Resolved
            | ArbitrationUnderReview => false,
        },
        Accepted | Expired | Cancelled | Resolved | ArbitrationWon | ArbitrationLost => false,
    };
    legal.then(|| DisputeTransition { to, charged_back: charged_back(to), emits: event(to) })
}

/// Returns whether a status gives the money to the cardholder.
fn charged_back(to: DisputeStatus) -> Option<bool> {
    use DisputeStatus as Status;

    match to {
        Status::Won | Status::Cancelled | Status::Resolved | Status::ArbitrationWon => Some(false),
        // After a won review the money is taken again.
        Status::EvidenceRequired
        | Status::Lost
        | Status::Accepted
        | Status::Expired
        | Status::ArbitrationLost => Some(true),
        Status::EvidenceUnderReview | Status::ArbitrationUnderReview => None,
    }
}

pub fn event(status: DisputeStatus) -> EventType {
    match status {
        DisputeStatus::EvidenceRequired => EventType::DisputeEvidenceRequired,
        DisputeStatus::EvidenceUnderReview => EventType::DisputeEvidenceUnderReview,
        DisputeStatus::Won => EventType::DisputeWon,
        DisputeStatus::Lost => EventType::DisputeLost,
        DisputeStatus::Accepted => EventType::DisputeAccepted,
        DisputeStatus::Expired => EventType::DisputeExpired,
        DisputeStatus::Cancelled => EventType::DisputeCancelled,
        DisputeStatus::Resolved => EventType::DisputeResolved,
        DisputeStatus::ArbitrationUnderReview => EventType::DisputeArbitrationUnderReview,
        DisputeStatus::ArbitrationWon => EventType::DisputeArbitrationWon,
        DisputeStatus::ArbitrationLost => EventType::DisputeArbitrationLost,
    }
}

/// Refuses unless the merchant may still answer: change or submit its evidence, or accept the dispute.
pub fn check_answerable(status: DisputeStatus) -> Result<(), ErrorCode> {
    match status {
        DisputeStatus::EvidenceRequired => Ok(()),
        DisputeStatus::EvidenceUnderReview | DisputeStatus::ArbitrationUnderReview => {
            Err(ErrorCode::DisputeAlreadyUnderReview)
        }
        DisputeStatus::Cancelled => Err(ErrorCode::DisputeAlreadyCancelled),
        DisputeStatus::Won
        | DisputeStatus::Lost
        | DisputeStatus::Accepted
        | DisputeStatus::Expired
        | DisputeStatus::Resolved
        | DisputeStatus::ArbitrationWon
        | DisputeStatus::ArbitrationLost => Err(ErrorCode::DisputeAlreadyResolved),
    }
}

/// Returns the table as text: one line a legal transition, and one line for each answer of the merchant that is too
/// late.
pub fn table() -> String {
    let mut lines = String::new();
    for &from in DisputeStatus::ALL {
        for step in DisputeStatus::ALL.iter().filter_map(|to| next(from, *to)) {
            let money = match step.charged_back {
                Some(true) => "the cardholder has the money",
                Some(false) => "the merchant has the money",
                None => "the money stays where it is",
            };
            // Writing to a String cannot fail.
            let _ = writeln!(
                lines,
                "{} -> {}, emits {}; {money}",
                from.code(),
                step.to.code(),
                step.emits.code()
            );
        }
        if let Err(refusal) = check_answerable(from) {
            let _ = writeln!(lines, "{} + the merchant's answer -> refused: {}", from.code(), refusal.code());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_decisions() {
        let expected = "\
evidence_required -> evidence_under_review, emits dispute.evidence_under_review; the money stays where it is
evidence_required -> accepted, emits dispute.accepted; the cardholder has the money
evidence_required -> expired, emits dispute.expired; the cardholder has the money
evidence_required -> cancelled, emits dispute.cancelled; the merchant has the money
evidence_required -> resolved, emits dispute.resolved; the merchant has the money
evidence_under_review -> won, emits dispute.won; the merchant has the money
evidence_under_review -> lost, emits dispute.lost; the cardholder has the money
evidence_under_review -> cancelled, emits dispute.cancelled; the merchant has the money
evidence_under_review -> resolved, emits dispute.resolved; the merchant has the money
evidence_under_review -> arbitration_under_review, emits dispute.arbitration_under_review; the money stays where it is
evidence_under_review + the merchant's answer -> refused: dispute_already_under_review
won -> arbitration_under_review, emits dispute.arbitration_under_review; the money stays where it is
won + the merchant's answer -> refused: dispute_already_resolved
lost -> arbitration_under_review, emits dispute.arbitration_under_review; the money stays where it is
lost + the merchant's answer -> refused: dispute_already_resolved
accepted + the merchant's answer -> refused: dispute_already_resolved
expired + the merchant's answer -> refused: dispute_already_resolved
cancelled + the merchant's answer -> refused: dispute_already_cancelled
resolved + the merchant's answer -> refused: dispute_already_resolved
arbitration_under_review -> arbitration_won, emits dispute.arbitration_won; the merchant has the money
arbitration_under_review -> arbitration_lost, emits dispute.arbitration_lost; the cardholder has the money
arbitration_under_review + the merchant's answer -> refused: dispute_already_under_review
arbitration_won + the merchant's answer -> refused: dispute_already_resolved
arbitration_lost + the merchant's answer -> refused: dispute_already_resolved
";
        assert_eq!(table(), expected);
    }
}
