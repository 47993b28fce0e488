//! Event (specification, Events).

use entity::{EventToken, JsonText, Timestamp, event};
use macros::view;

/// Something that happened. More types join over time: tolerate unknown ones.
#[view]
pub struct Event {
    /// `evt_...`
    token: EventToken,
    /// What happened, for example `charge.captured`.
    #[schema(example = "charge.captured")]
    r#type: &'static str,
    /// The affected record as the API showed it at that moment, for example a Charge.
    #[schema(value_type = std::collections::BTreeMap<String, serde_json::Value>)]
    data: JsonText,
    /// When.
    created_at: Timestamp,
}

impl From<event::Model> for Event {
    fn from(row: event::Model) -> Self {
        Self { token: row.id, r#type: row.r#type.code(), data: row.data, created_at: row.created_at }
    }
}
