//! Event (specification, Events).

use entity::{EventToken, JsonText, Timestamp, event};
use macros::view;

/// Something that happened. More types join over time: tolerate unknown ones.
#[view(of(event::Model))]
pub struct Event {
    /// `evt_...`
    token: EventToken,
    /// What happened, for example `charge.captured`.
    #[schema(example = "charge.captured")]
    #[shows(row.r#type.code())]
    r#type: &'static str,
    /// The affected record as the API showed it at that moment, for example a Charge.
    #[schema(value_type = std::collections::BTreeMap<String, serde_json::Value>)]
    data: JsonText,
    /// When.
    created_at: Timestamp,
}
