//! The states of a transfer: a total table of what each action does in each (specification, Transfer).

use std::fmt::Write;

use entity::event::EventType;
use entity::transfer::TransferStatus;

/// An action on a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The bank sends the transfer back.
    Return,
}

/// A legal transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferTransition {
    /// The new state.
    pub to: TransferStatus,
    /// The event to record.
    pub emits: EventType,
}

/// Returns the transition of an action, or `None` if the transfer stays as it is.
pub fn next(status: TransferStatus, action: Action) -> Option<TransferTransition> {
    match (status, action) {
        (TransferStatus::Succeeded, Action::Return) => {
            Some(TransferTransition { to: TransferStatus::Failed, emits: EventType::TransferFailed })
        }
        (TransferStatus::Failed, Action::Return) => None,
    }
}

/// Returns the table as text, one line per cell.
pub fn table() -> String {
    let mut lines = String::new();
    for &status in TransferStatus::ALL {
        let cell = match next(status, Action::Return) {
            Some(TransferTransition { to, emits }) => format!("{}, emits {}", to.code(), emits.code()),
            None => "stays".to_owned(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(lines, "{} + return -> {cell}", status.code());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_is_returned_once() {
        assert_eq!(
            table(),
            "succeeded + return -> failed, emits transfer.failed\nfailed + return -> stays\n"
        );
    }
}
