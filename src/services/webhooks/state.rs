//! The states of a webhook: one total table of what a delivery or a replay does in each (specification, Webhook;
//! decisions 11).

use std::fmt::Write;

use entity::webhook::WebhookState;

/// What can happen to a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The endpoint accepted it.
    Accepted,
    /// It did not, and a retry is left.
    Refused,
    /// It did not, and no retry is left.
    RefusedAtLast,
    /// Its account wants it sent again.
    Replay,
}

/// Why an action does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It is about to be delivered anyway.
    CannotReplay,
    /// Nothing was to be delivered: what came of the delivery came too late.
    Late,
}

/// Every action, for the table.
const ACTIONS: [Action; 4] = [Action::Accepted, Action::Refused, Action::RefusedAtLast, Action::Replay];

/// The table.
pub fn next(state: WebhookState, action: Action) -> Result<WebhookState, Refusal> {
    use Action::{Accepted, Refused, RefusedAtLast, Replay};
    use WebhookState::{Completed, Failed, Pending, Retrying};

    match (state, action) {
        (Pending | Retrying, Accepted) => Ok(Completed),
        (Pending | Retrying, Refused) => Ok(Retrying),
        (Pending | Retrying, RefusedAtLast) => Ok(Failed),
        (Completed | Failed, Accepted | Refused | RefusedAtLast) => Err(Refusal::Late),
        (Completed | Retrying | Failed, Replay) => Ok(Pending),
        (Pending, Replay) => Err(Refusal::CannotReplay),
    }
}

/// The table as text, one line a cell.
pub fn table() -> String {
    let mut lines = String::new();
    for &state in WebhookState::ALL {
        for action in ACTIONS {
            let action_name = match action {
                Action::Accepted => "accepted",
                Action::Refused => "refused",
                Action::RefusedAtLast => "refused, no retry left",
                Action::Replay => "replay",
            };
            let cell = match next(state, action) {
                Ok(to) => to.code().to_owned(),
                Err(Refusal::CannotReplay) => "refused: cannot_replay_webhook".to_owned(),
                Err(Refusal::Late) => "stays as it is".to_owned(),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "{} + {action_name} -> {cell}", state.code());
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
pending + accepted -> completed
pending + refused -> retrying
pending + refused, no retry left -> failed
pending + replay -> refused: cannot_replay_webhook
retrying + accepted -> completed
retrying + refused -> retrying
retrying + refused, no retry left -> failed
retrying + replay -> pending
completed + accepted -> stays as it is
completed + refused -> stays as it is
completed + refused, no retry left -> stays as it is
completed + replay -> pending
failed + accepted -> stays as it is
failed + refused -> stays as it is
failed + refused, no retry left -> stays as it is
failed + replay -> pending
";
        assert_eq!(table(), expected);
    }
}
