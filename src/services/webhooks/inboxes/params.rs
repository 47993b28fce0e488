//! Parameters of inboxes (`docs/decisions.md`, 375).

use entity::inbox::InboxFault;
use macros::params;

use crate::limits::{INBOX_EVERY_MAX, INBOX_LATENCY_MS_MAX};
use crate::params::{Paging, ParameterTree, Params, Patch, Waiting};

/// An inbox's answer; absent parameters stay.
#[params]
pub struct ChangedInbox {
    /// HTTP status.
    #[validate(range(min = 200, max = 599))]
    #[schema(example = 503)]
    pub status: Option<i64>,
    /// The delay, in milliseconds.
    #[validate(range(min = 0, max = INBOX_LATENCY_MS_MAX))]
    pub latency_ms: Option<i64>,
    /// `hang` (no answer), `reset` or blank.
    #[schema(value_type = Option<String>, example = "hang")]
    pub fault: Option<Patch<InboxFault>>,
    /// Only each nth delivery gets this answer, the others 200.
    #[validate(range(min = 1, max = INBOX_EVERY_MAX))]
    #[schema(example = 3)]
    pub every: Option<i64>,
}

/// Which deliveries of an inbox to show, and how many of them to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliverySearch {
    /// How many deliveries there must be, and how long to wait for them.
    pub waiting: Waiting,
    /// The page of the deliveries.
    pub paging: Paging,
}

impl DeliverySearch {
    /// Reads the parameters of a list of deliveries.
    pub fn read(tree: &impl ParameterTree) -> Params<Self> {
        let (waiting, paging) = (Waiting::read(tree), Paging::read(tree));
        let mut faults = waiting.faults;
        faults.append(paging.faults);
        Params { value: Self { waiting: waiting.value, paging: paging.value }, faults }
    }
}
