//! JSON that is returned exactly as it was stored.

use sea_orm::DeriveValueType;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON text, which both databases keep as TEXT, because jsonb would sort its keys. Serialises as the JSON that it holds, byte
/// for byte.
#[derive(Debug, Clone, PartialEq, Eq, DeriveValueType)]
// So that a column of JSON can be told from one of any text.
#[sea_orm(column_type = "Json")]
pub struct JsonText(String);

impl JsonText {
    /// Returns the JSON of a value.
    pub fn encode(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::to_string(value).map(Self)
    }

    /// Returns the empty object.
    pub fn empty_object() -> Self {
        Self("{}".into())
    }

    /// Returns the JSON.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}
