//! The statuses of a dispute, and what they cost, as the specification has them.

pub const STATUSES: [&str; 10] = [
    "evidence_under_review",
    "accepted",
    "expired",
    "cancelled",
    "resolved",
    "won",
    "lost",
    "arbitration_under_review",
    "arbitration_won",
    "arbitration_lost",
];
/// In these statuses the money is the merchant's again.
pub const FORGIVEN: [&str; 4] = ["won", "cancelled", "resolved", "arbitration_won"];
pub const CHARGEBACK_FEE: i64 = 2_500;

/// Returns whether a status may follow.
pub fn follows(from: &str, to: &str) -> bool {
    match from {
        "evidence_required" => &STATUSES[..5],
        "evidence_under_review" => &["won", "lost", "cancelled", "resolved", "arbitration_under_review"][..],
        "won" | "lost" => &["arbitration_under_review"],
        "arbitration_under_review" => &["arbitration_won", "arbitration_lost"],
        _ => &[],
    }
    .contains(&to)
}
