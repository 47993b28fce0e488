//! Event (specification, Events).

use entity::{EventToken, JsonText, Timestamp, event};
use serde::Serialize;
use utoipa::ToSchema;

/// An event of the account. More types may follow: accept unknown ones.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Event {
    /// `evt_...`
    #[schema(value_type = String, example = "evt_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: EventToken,
    /// The type, for example `charge.captured`.
    #[schema(example = "charge.captured")]
    r#type: &'static str,
    /// The affected record as the API showed it at that moment, for example a Charge.
    #[schema(value_type = std::collections::BTreeMap<String, serde_json::Value>)]
    data: JsonText,
    /// The time.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<event::Model> for Event {
    fn from(row: event::Model) -> Self {
        Self { token: row.id, r#type: row.r#type.code(), data: row.data, created_at: row.created_at }
    }
}
