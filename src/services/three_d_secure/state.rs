//! The states of a 3-D Secure session: the first decision ends it (`docs/decisions.md`, 148).

use entity::three_d_secure::SessionState;

use crate::services::state_table;

/// A decision that ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChallengeDecision {
    /// The cardholder approves.
    Approve,
    /// The cardholder refuses.
    Fail,
    /// The page finds that the card does not offer 3-D Secure.
    Unavailable,
    /// Thirty minutes have passed.
    Expire,
}

impl ChallengeDecision {
    const ALL: [Self; 4] = [Self::Approve, Self::Fail, Self::Unavailable, Self::Expire];
}

/// Returns the state after a decision, or `None` if the session had already ended.
pub fn next(state: SessionState, decision: ChallengeDecision) -> Option<SessionState> {
    use ChallengeDecision::{Approve, Expire, Fail, Unavailable};
    use SessionState::{Approved, Expired, Failed, Open};

    state_table::reach("session", state, decision);
    match (state, decision) {
        (Open, Approve) => Some(Approved),
        (Open, Fail) => Some(Failed),
        (Open, Unavailable) => Some(SessionState::Unavailable),
        (Open, Expire) => Some(Expired),
        (Approved | Failed | SessionState::Unavailable | Expired, Approve | Fail | Unavailable | Expire) => {
            None
        }
    }
}

/// Returns the table as text, one line per cell.
pub fn table() -> String {
    state_table::draw(SessionState::ALL.iter().copied(), &ChallengeDecision::ALL, |state, decision| {
        let cell = next(state, decision).map_or("unchanged", SessionState::code);
        Some(format!("{} + {} -> {cell}", state.code(), format!("{decision:?}").to_lowercase()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_decision_ends_a_session() {
        let expected = "\
open + approve -> approved
open + fail -> failed
open + unavailable -> unavailable
open + expire -> expired
approved + approve -> unchanged
approved + fail -> unchanged
approved + unavailable -> unchanged
approved + expire -> unchanged
failed + approve -> unchanged
failed + fail -> unchanged
failed + unavailable -> unchanged
failed + expire -> unchanged
unavailable + approve -> unchanged
unavailable + fail -> unchanged
unavailable + unavailable -> unchanged
unavailable + expire -> unchanged
expired + approve -> unchanged
expired + fail -> unchanged
expired + unavailable -> unchanged
expired + expire -> unchanged
";
        assert_eq!(table(), expected);
    }
}
