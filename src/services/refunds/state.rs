//! The states of a refund: a total table of what each action does in each (specification, Refund; `docs/decisions.md`,
//! 168 and 170).

use entity::event::EventType;
use entity::refund::{RefundOutcome, RefundState};

use crate::services::state_table;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefundAction {
    /// The acquirer accepts it.
    Accept,
    /// The cardholder receives the money.
    Succeed,
    /// The acquirer or the issuer refuses it.
    Fail,
}

impl RefundAction {
    /// All actions, in the table's order.
    pub const ALL: &[Self] = &[Self::Accept, Self::Succeed, Self::Fail];
}

impl From<RefundOutcome> for RefundAction {
    fn from(outcome: RefundOutcome) -> Self {
        match outcome {
            RefundOutcome::Succeeded => Self::Succeed,
            RefundOutcome::Failed => Self::Fail,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefundTransition {
    pub to: RefundState,
    /// The event to record. Acceptance records none.
    pub emits: Option<EventType>,
}

/// Returns the transition of an action, or `None` if the refund stays as it is: an ended refund does not change, and
/// none is accepted twice.
pub fn next(state: RefundState, action: RefundAction) -> Option<RefundTransition> {
    use RefundAction::{Accept, Fail, Succeed};
    use RefundState::{Accepted, Failed, Submitting, Succeeded};

    state_table::reach("refund", state, action);
    match (state, action) {
        (Submitting, Accept) => Some(RefundTransition { to: Accepted, emits: None }),
        // Also before acceptance: an outcome can be decided immediately.
        (Submitting | Accepted, Succeed) => {
            Some(RefundTransition { to: Succeeded, emits: Some(EventType::RefundSucceeded) })
        }
        (Submitting | Accepted, Fail) => {
            Some(RefundTransition { to: Failed, emits: Some(EventType::RefundFailed) })
        }
        (Accepted, Accept) | (Succeeded | Failed, Accept | Succeed | Fail) => None,
    }
}

/// Returns the table as text, one line per cell.
pub fn table() -> String {
    state_table::draw(RefundState::ALL.iter().copied(), RefundAction::ALL, |state, action| {
        let cell = match next(state, action) {
            Some(RefundTransition { to, emits: Some(event) }) => {
                format!("{}, emits {}", to.code(), event.code())
            }
            Some(RefundTransition { to, emits: None }) => to.code().to_owned(),
            None => "stays".to_owned(),
        };
        Some(format!("{} + {} -> {cell}", state.code(), format!("{action:?}").to_lowercase()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_specifications() {
        let expected = "\
submitting + accept -> accepted
submitting + succeed -> succeeded, emits refund.succeeded
submitting + fail -> failed, emits refund.failed
accepted + accept -> stays
accepted + succeed -> succeeded, emits refund.succeeded
accepted + fail -> failed, emits refund.failed
succeeded + accept -> stays
succeeded + succeed -> stays
succeeded + fail -> stays
failed + accept -> stays
failed + succeed -> stays
failed + fail -> stays
";
        assert_eq!(table(), expected);
    }
}
