//! Event (specification, Events).

use entity::event::{self, EventType};
use entity::{EventToken, JsonText, Timestamp};
use macros::view;

/// Something that happened in the account. More types join over time: accept unknown ones. `KnownEvent` tells what `data` holds.
#[view(of(event::Model))]
pub struct Event {
    /// The event's token, `evt_...`.
    token: EventToken,
    /// What happened to the record.
    r#type: EventType,
    /// The record that it happened to, as the API showed it at that moment.
    #[schema(value_type = std::collections::BTreeMap<String, serde_json::Value>)]
    data: JsonText,
    /// The time of the event.
    created_at: Timestamp,
    /// The event's number in its account: from 1, without gaps, as events became visible. An extension.
    #[schema(minimum = 1, example = 1)]
    sequence: Option<i64>,
}
