//! The states of a webhook: a total table of what a delivery or a replay does in each (specification, Webhook;
//! `docs/decisions.md`, 253 and 257).

use entity::webhook::WebhookState;

use crate::services::state_table;

/// An action on a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookAction {
    Accepted,
    /// The endpoint did not accept it, and a retry remains.
    Refused,
    /// The endpoint did not accept it, and no retry remains.
    RefusedAtLast,
    /// The account requests another delivery.
    Replay,
}

/// The reason why an action does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookRefusal {
    /// The webhook is pending and will be delivered anyway.
    CannotReplay,
    /// No delivery was due: the outcome came too late.
    Late,
}

/// All actions, in the table's order.
const ACTIONS: [WebhookAction; 4] =
    [WebhookAction::Accepted, WebhookAction::Refused, WebhookAction::RefusedAtLast, WebhookAction::Replay];

pub fn next(state: WebhookState, action: WebhookAction) -> Result<WebhookState, WebhookRefusal> {
    use WebhookAction::{Accepted, Refused, RefusedAtLast, Replay};
    use WebhookState::{Completed, Failed, Pending, Retrying};

    state_table::reach("webhook", state, action);
    match (state, action) {
        (Pending | Retrying, Accepted) => Ok(Completed),
        (Pending | Retrying, Refused) => Ok(Retrying),
        (Pending | Retrying, RefusedAtLast) => Ok(Failed),
        (Completed | Failed, Accepted | Refused | RefusedAtLast) => Err(WebhookRefusal::Late),
        (Completed | Retrying | Failed, Replay) => Ok(Pending),
        (Pending, Replay) => Err(WebhookRefusal::CannotReplay),
    }
}

/// Returns the table as text, one line per cell.
pub fn table() -> String {
    state_table::draw(WebhookState::ALL.iter().copied(), &ACTIONS, |state, action| {
        let action_name = match action {
            WebhookAction::Accepted => "accepted",
            WebhookAction::Refused => "refused",
            WebhookAction::RefusedAtLast => "refused, no retry left",
            WebhookAction::Replay => "replay",
        };
        let cell = match next(state, action) {
            Ok(to) => to.code(),
            Err(WebhookRefusal::CannotReplay) => "refused: cannot_replay_webhook",
            Err(WebhookRefusal::Late) => "stays as it is",
        };
        Some(format!("{} + {action_name} -> {cell}", state.code()))
    })
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
