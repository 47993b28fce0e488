//! Event (specification, Events).

use entity::{EventToken, JsonText, Timestamp, event};
use macros::view;

/// An event of the account. More types may follow: accept unknown ones.
#[view(of(event::Model))]
pub struct Event {
    /// `evt_...`
    token: EventToken,
    /// The type, for example `charge.captured`.
    #[schema(example = "charge.captured")]
    #[shows(row.r#type.code())]
    r#type: &'static str,
    /// The affected record as the API showed it at that moment, for example a Charge.
    #[schema(value_type = std::collections::BTreeMap<String, serde_json::Value>)]
    data: JsonText,
    /// The time.
    created_at: Timestamp,
    /// Its number among the account's events, from 1 and without gaps, in the order in which they became visible. An extension.
    #[schema(minimum = 1, example = 1)]
    sequence: Option<i64>,
}
