//! The states of a transfer: one total table of what can become of it in each (specification, Transfer; decisions 8).

use std::fmt::Write;

use entity::event::EventType;
use entity::transfer::TransferStatus;

/// What can become of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The bank sends it back.
    Return,
}

/// A legal move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// Where it ends.
    pub to: TransferStatus,
    /// What happened then.
    pub emits: EventType,
}

/// The table. `None` where the transfer stays as it is.
pub fn next(status: TransferStatus, action: Action) -> Option<Move> {
    match (status, action) {
        (TransferStatus::Succeeded, Action::Return) => {
            Some(Move { to: TransferStatus::Failed, emits: EventType::TransferFailed })
        }
        (TransferStatus::Failed, Action::Return) => None,
    }
}

/// The table as text, one line a cell.
pub fn table() -> String {
    let mut lines = String::new();
    for &status in TransferStatus::ALL {
        let cell = match next(status, Action::Return) {
            Some(Move { to, emits }) => format!("{}, emits {}", to.code(), emits.code()),
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
