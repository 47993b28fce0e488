//! Parameters of inboxes (`docs/decisions.md`, 375).

use entity::inbox::InboxFault;
use entity::string_enum;
use macros::params;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::limits::{INBOX_EVERY_MAX, INBOX_LATENCY_MS_MAX};
use crate::params::{Paging, ParameterTree, Params, Patch, Waiting};

/// The answer of an inbox. Absent fields stay; a new inbox answers 200 at once.
#[params]
pub struct ChangedInbox {
    /// The HTTP status of the answers; it stays if it is absent.
    #[validate(range(min = 200, max = 599))]
    #[schema(example = 503)]
    pub status: Option<i64>,
    /// The delay of the answers, in milliseconds; it stays if it is absent.
    #[validate(range(min = 0, max = INBOX_LATENCY_MS_MAX))]
    pub latency_ms: Option<i64>,
    /// Why deliveries get no answer, or an empty text if they get one; it stays if it is absent.
    #[schema(value_type = Option<InboxFaultInput>)]
    pub fault: Option<Patch<InboxFault>>,
    /// How often this answer is given: 3 means to each third delivery, while the others get 200; it stays if it is absent.
    #[validate(range(min = 1, max = INBOX_EVERY_MAX))]
    #[schema(example = 3)]
    pub every: Option<i64>,
}

/// The schema of a fault that is set, or cleared by an empty text.
pub struct InboxFaultInput;

impl ToSchema for InboxFaultInput {}

impl PartialSchema for InboxFaultInput {
    fn schema() -> RefOr<Schema> {
        string_enum::or_empty::<InboxFault>(
            "Why deliveries to an inbox get no answer; empty if they get one.",
        )
        .into()
    }
}

/// Which deliveries of an inbox to show, and how many of them to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliverySearch {
    /// How many deliveries there must be, and how long to wait for them.
    pub waiting: Waiting,
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
