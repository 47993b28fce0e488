//! The states of an exception: one total table of what may happen in which.

use entity::reconciliation_exception::ExceptionState;

use crate::services::state_table::draw;

/// Something that happens to an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExceptionAction {
    /// An operator says why it is there.
    Explain,
    /// An operator resolves it.
    Resolve,
    /// A later statement has what it lacked.
    Match,
}

impl ExceptionAction {
    pub const ALL: [Self; 3] = [Self::Explain, Self::Resolve, Self::Match];
}

/// Returns the state after an action; `None` if it is refused.
pub fn next(state: ExceptionState, action: ExceptionAction) -> Option<ExceptionState> {
    use ExceptionAction::{Explain, Match, Resolve};
    use ExceptionState::{Explained, Open, Resolved};

    match (state, action) {
        (Open | Explained, Explain) => Some(Explained),
        // What an operator has resolved may be matched afterwards: it then names the statement as well.
        (Open | Explained, Resolve) | (Open | Explained | Resolved, Match) => Some(Resolved),
        (Resolved, Explain | Resolve) => None,
    }
}

pub fn table() -> String {
    draw(ExceptionState::ALL.iter().copied(), &ExceptionAction::ALL, |state, action| {
        let to = next(state, action)?.code();
        let action = match action {
            ExceptionAction::Explain => "explain",
            ExceptionAction::Resolve => "resolve",
            ExceptionAction::Match => "a later statement",
        };
        Some(format!("{:<9} -- {action} --> {to}", state.code()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table() {
        assert_eq!(
            table(),
            "open      -- explain --> explained\n\
             open      -- resolve --> resolved\n\
             open      -- a later statement --> resolved\n\
             explained -- explain --> explained\n\
             explained -- resolve --> resolved\n\
             explained -- a later statement --> resolved\n\
             resolved  -- a later statement --> resolved\n"
        );
    }
}
