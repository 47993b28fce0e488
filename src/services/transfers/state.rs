//! The states of a transfer: a total table of what each action does in each (specification, Transfer).

use entity::event::EventType;
use entity::transfer::TransferStatus;

use crate::services::state_table;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferAction {
    /// The bank sends the transfer back.
    Return,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferTransition {
    pub to: TransferStatus,
    pub emits: EventType,
}

/// Returns the transition of an action, or `None` if the transfer stays as it is.
pub fn next(status: TransferStatus, action: TransferAction) -> Option<TransferTransition> {
    state_table::reach("transfer", status, action);
    match (status, action) {
        (TransferStatus::Succeeded, TransferAction::Return) => {
            Some(TransferTransition { to: TransferStatus::Failed, emits: EventType::TransferFailed })
        }
        (TransferStatus::Failed, TransferAction::Return) => None,
    }
}

/// Returns the table as text, one line per cell.
pub fn table() -> String {
    state_table::draw(TransferStatus::ALL.iter().copied(), &[TransferAction::Return], |status, action| {
        let cell = match next(status, action) {
            Some(TransferTransition { to, emits }) => format!("{}, emits {}", to.code(), emits.code()),
            None => "stays".to_owned(),
        };
        Some(format!("{} + return -> {cell}", status.code()))
    })
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
