//! The states of a subscription: one total table of its transitions (specification, States and transitions, Subscription).

use entity::event::EventType;
use entity::subscription::SubscriptionState;

use crate::error::ErrorCode;
use crate::services::state_table;

/// An action on a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubscriptionAction {
    /// Its first interval begins.
    Start,
    /// Its trial begins.
    StartTrial,
    /// The next interval is billed.
    Renew,
    /// The bill of the next interval is refused.
    Refuse,
    /// The merchant cancels it, or the last retry of a bill was refused.
    Cancel,
    /// Its customer is deleted.
    CloseCustomer,
    /// Its customer unsubscribes.
    Unsubscribe,
    /// Its last paid interval is over, and nothing more is billed.
    Finish,
    /// The merchant reactivates it.
    Reactivate,
    /// The same, within its trial.
    ReactivateTrial,
}

impl SubscriptionAction {
    /// Every action, for the table.
    pub const ALL: &[Self] = &[
        Self::Start,
        Self::StartTrial,
        Self::Renew,
        Self::Refuse,
        Self::Cancel,
        Self::CloseCustomer,
        Self::Unsubscribe,
        Self::Finish,
        Self::Reactivate,
        Self::ReactivateTrial,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::StartTrial => "start with a trial",
            Self::Renew => "renew",
            Self::Refuse => "bill refused",
            Self::Cancel => "cancel",
            Self::CloseCustomer => "customer deleted",
            Self::Unsubscribe => "unsubscribe",
            Self::Finish => "run out",
            Self::Reactivate => "reactivate",
            Self::ReactivateTrial => "reactivate in the trial",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscriptionTransition {
    pub to: SubscriptionState,
    /// The event; a reactivation has none of its own, only its charge's.
    pub emits: Option<EventType>,
}

pub fn next(
    state: SubscriptionState,
    action: SubscriptionAction,
) -> Result<SubscriptionTransition, ErrorCode> {
    use SubscriptionAction::{
        Cancel, CloseCustomer, Finish, Reactivate, ReactivateTrial, Refuse, Renew, Start, StartTrial,
        Unsubscribe,
    };
    use SubscriptionState::{Active, Cancelled, Cancelling, Starting, Trial};

    state_table::reach("subscription", state, action);
    let emitting = |to, event| Ok(SubscriptionTransition { to, emits: Some(event) });
    let silent = |to| Ok(SubscriptionTransition { to, emits: None });
    match (state, action) {
        (Starting, Start) => emitting(Active, EventType::SubscriptionCreated),
        (Starting, StartTrial) => emitting(Trial, EventType::SubscriptionCreated),
        (Trial | Active, Renew) => emitting(Active, EventType::SubscriptionRenewed),
        // Cancelled during the acquirer call: the charge stands, and nothing more is billed.
        (Cancelling | Cancelled, Renew) => emitting(state, EventType::SubscriptionRenewed),
        (Trial | Active | Cancelling | Cancelled, Refuse) => {
            emitting(state, EventType::SubscriptionRenewalFailed)
        }
        (Trial | Active, Cancel | CloseCustomer) | (Cancelling, CloseCustomer | Finish) => {
            emitting(Cancelled, EventType::SubscriptionCancelled)
        }
        (Trial | Active, Unsubscribe) => emitting(Cancelling, EventType::SubscriptionUnsubscribed),
        (Active, Finish) => emitting(Cancelled, EventType::SubscriptionExpired),
        (Cancelling | Cancelled, Reactivate) => silent(Active),
        (Cancelling | Cancelled, ReactivateTrial) => silent(Trial),
        (
            Starting,
            Renew | Refuse | Cancel | CloseCustomer | Unsubscribe | Finish | Reactivate | ReactivateTrial,
        )
        | (Trial, Start | StartTrial | Finish | Reactivate | ReactivateTrial)
        | (Active, Start | StartTrial | Reactivate | ReactivateTrial)
        | (Cancelling, Start | StartTrial | Cancel | Unsubscribe)
        | (Cancelled, Start | StartTrial | Cancel | CloseCustomer | Unsubscribe | Finish) => {
            Err(ErrorCode::InvalidState)
        }
    }
}

/// Returns the table as text, one line a legal transition; all others are refused.
pub fn table() -> String {
    state_table::draw(SubscriptionState::ALL.iter().copied(), SubscriptionAction::ALL, |state, action| {
        let SubscriptionTransition { to, emits } = next(state, action).ok()?;
        let emits = emits.map_or(String::new(), |event| format!(", emits {}", event.code()));
        Some(format!("{} + {} -> {}{emits}", state.code(), action.name(), to.code()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_specifications() {
        let expected = "\
starting + start -> active, emits subscription.created
starting + start with a trial -> trial, emits subscription.created
trial + renew -> active, emits subscription.renewed
trial + bill refused -> trial, emits subscription.renewal_failed
trial + cancel -> cancelled, emits subscription.cancelled
trial + customer deleted -> cancelled, emits subscription.cancelled
trial + unsubscribe -> cancelling, emits subscription.unsubscribed
active + renew -> active, emits subscription.renewed
active + bill refused -> active, emits subscription.renewal_failed
active + cancel -> cancelled, emits subscription.cancelled
active + customer deleted -> cancelled, emits subscription.cancelled
active + unsubscribe -> cancelling, emits subscription.unsubscribed
active + run out -> cancelled, emits subscription.expired
cancelling + renew -> cancelling, emits subscription.renewed
cancelling + bill refused -> cancelling, emits subscription.renewal_failed
cancelling + customer deleted -> cancelled, emits subscription.cancelled
cancelling + run out -> cancelled, emits subscription.cancelled
cancelling + reactivate -> active
cancelling + reactivate in the trial -> trial
cancelled + renew -> cancelled, emits subscription.renewed
cancelled + bill refused -> cancelled, emits subscription.renewal_failed
cancelled + reactivate -> active
cancelled + reactivate in the trial -> trial
";
        assert_eq!(table(), expected);
    }
}
