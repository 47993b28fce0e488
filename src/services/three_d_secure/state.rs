//! The states of a 3-D Secure session: one decision ends it, whoever comes later (decisions 5).

use std::fmt::Write;

use entity::three_d_secure::SessionState;

/// What ends a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The cardholder approves.
    Approve,
    /// The cardholder does not.
    Fail,
    /// The page finds that the card does not offer 3-D Secure.
    Unavailable,
    /// Thirty minutes have passed.
    Expire,
}

impl Decision {
    const ALL: [Self; 4] = [Self::Approve, Self::Fail, Self::Unavailable, Self::Expire];
}

/// The table. `None`: it has ended before.
pub fn next(state: SessionState, decision: Decision) -> Option<SessionState> {
    use Decision::{Approve, Expire, Fail, Unavailable};
    use SessionState::{Approved, Expired, Failed, Open};

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

/// The table as text, one line a cell.
pub fn table() -> String {
    let mut lines = String::new();
    for state in SessionState::ALL {
        for decision in Decision::ALL {
            let name = format!("{decision:?}").to_lowercase();
            let cell = next(*state, decision).map_or("unchanged", SessionState::code);
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "{} + {name} -> {cell}", state.code());
        }
    }
    lines
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
