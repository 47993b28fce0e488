//! A parameter for which absent and blank mean different things.

use std::{fmt, marker::PhantomData};

use serde::{Deserialize, Deserializer, Serialize, de};
use validator::ValidateLength;

/// The name by which the collector recognises a type that distinguishes blank from absent.
pub(super) const NAME: &str = "$card_payments::Patch";

/// A parameter for which absent and blank mean different things: `card_token=` on a subscription means the default card.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub enum Patch<T> {
    /// It was not sent: nothing changes.
    #[default]
    Absent,
    /// It was sent as JSON null, as white space, or as an empty object or list.
    Blank,
    /// It was sent with this value.
    Value(T),
}

impl<T> Patch<T> {
    /// Returns the value, if one was sent.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Blank => None,
        }
    }

    /// Returns the same with a reference to the value.
    pub fn as_ref(&self) -> Patch<&T> {
        match self {
            Self::Absent => Patch::Absent,
            Self::Blank => Patch::Blank,
            Self::Value(value) => Patch::Value(value),
        }
    }
}

impl ValidateLength<u64> for Patch<String> {
    fn length(&self) -> Option<u64> {
        self.as_ref().value()?.length()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(NAME, PatchVisitor(PhantomData))
    }
}

struct PatchVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> de::Visitor<'de> for PatchVisitor<T> {
    type Value = Patch<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a wish told by the collector")
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Patch::Absent)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Patch::Blank)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        T::deserialize(deserializer).map(Patch::Value)
    }
}
