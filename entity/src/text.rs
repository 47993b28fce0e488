//! JSON that must come back exactly as it went out.

use sea_orm::DeriveValueType;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON text kept as TEXT on both databases, because jsonb would reorder its keys: event data, card
/// snapshots, metadata. Serialises as the JSON it holds, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, DeriveValueType)]
pub struct JsonText(String);

impl JsonText {
    /// The JSON of a value.
    pub fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self)
    }

    /// The empty object.
    pub fn empty_object() -> Self {
        Self("{}".into())
    }

    /// The JSON itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}
