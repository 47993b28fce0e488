//! A serde `Deserializer` over the tree that does not stop at the first fault: it records the fault, returns a placeholder
//! and continues.

use std::fmt;

use base::secret::WITHHELD;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use serde_json::{Map, Value};

use super::{
    findings::{DecodeReport, Path, ReadValues},
    http_url, patch, values,
};

/// Decodes the whole tree.
///
/// Only inside an `Option` does the type show whether a blank value counts (in a string) or not (in a number). If it does not,
/// decoding starts again without the value; only requests with such blanks pay for that.
pub(super) fn collect<T: DeserializeOwned>(tree: &Value) -> (T, DecodeReport) {
    let mut absent = Vec::new();
    loop {
        let mut findings = DecodeReport { absent, ..DecodeReport::default() };
        let root = ValueDeserializer {
            value: Some(tree),
            path: Path { parent: None, name: "" },
            optional: false,
            quiet: false,
            withheld: false,
            findings: &mut findings,
        };
        match T::deserialize(root) {
            Ok(value) => return (value, findings),
            Err(DecodeError::Absent(path)) => {
                absent = findings.absent;
                absent.push(path);
            }
            // No type that `read` allows refuses a placeholder, so this is a mistake in a request struct.
            Err(DecodeError::Unreadable(why)) => {
                panic!("a request struct holds a type that cannot be collected: {why}")
            }
        }
    }
}

/// The reason why decoding did not finish.
#[derive(Debug)]
enum DecodeError {
    /// The value at this path is blank, and its type has no blank value.
    Absent(String),
    Unreadable(String),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Absent(text) | Self::Unreadable(text)) = self;
        formatter.write_str(text)
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Self::Unreadable(message.to_string())
    }
}

/// One value of the tree, or the place of a missing one.
struct ValueDeserializer<'n> {
    value: Option<&'n Value>,
    path: Path<'n>,
    /// Whether it is inside an `Option`.
    optional: bool,
    /// Whether it is inside an object that is itself missing or wrong: the one fault of that object is enough.
    quiet: bool,
    /// Whether no part of it may be shown.
    withheld: bool,
    findings: &'n mut DecodeReport,
}

impl<'n> ValueDeserializer<'n> {
    fn add_fault(&mut self, predicate: &'static str) {
        if !self.quiet {
            self.findings.faults.add(&self.path.to_string(), predicate);
        }
    }

    /// Records the fault, and that a placeholder replaces the value.
    fn refuse(&mut self, predicate: &'static str) {
        self.add_fault(predicate);
        self.findings.placeholders.push(self.path.to_string());
    }

    /// Records that a type has read the value.
    fn reads(&mut self, value: &Value) {
        let ReadValues { open, withheld } = &mut self.findings.read;
        if self.withheld { withheld } else { open }.push(std::ptr::from_ref(value).addr());
    }

    /// Returns the value for a type that has no blank value.
    fn present(&mut self) -> Result<Option<&'n Value>, DecodeError> {
        match self.value.filter(|value| !values::is_blank(value)) {
            None if self.optional => Err(DecodeError::Absent(self.path.to_string())),
            None => {
                self.refuse(values::BLANK);
                Ok(None)
            }
            found => Ok(found),
        }
    }

    fn scalar<T>(
        mut self,
        placeholder: T,
        read: impl FnOnce(&Value) -> Result<T, &'static str>,
    ) -> Result<T, DecodeError> {
        let Some(value) = self.present()? else {
            return Ok(placeholder);
        };
        match read(value) {
            Ok(read) => {
                self.reads(value);
                Ok(read)
            }
            Err(predicate) => {
                self.refuse(predicate);
                Ok(placeholder)
            }
        }
    }

    fn text(mut self) -> String {
        match self.value.map_or_else(|| Ok(String::new()), values::text) {
            Ok(text) => {
                // No placeholder: rules check missing text, too, so that an email is both blank and badly formatted.
                if text.is_empty() && !self.optional {
                    self.add_fault(values::BLANK);
                }
                if let Some(value) = self.value {
                    self.reads(value);
                }
                text
            }
            Err(predicate) => {
                self.refuse(predicate);
                if self.optional { values::UNREADABLE.to_owned() } else { String::new() }
            }
        }
    }

    fn object(&mut self) -> Result<Option<&'n Map<String, Value>>, DecodeError> {
        // An empty request is still a request; an empty object inside it counts as absent.
        let value = if self.path.parent.is_none() { self.value } else { self.present()? };
        let object = value.and_then(Value::as_object);
        if value.is_some() && object.is_none() {
            self.refuse(values::INVALID);
        }
        Ok(object)
    }
}

impl<'de> Deserializer<'de> for ValueDeserializer<'_> {
    type Error = DecodeError;

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_i64(self.scalar(0, values::integer)?)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_bool(self.scalar(false, values::boolean)?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_string(self.text())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_string(self.text())
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let placeholder = names.first().copied().unwrap_or_default();
        visitor
            .visit_enum(self.scalar(placeholder, |value| values::choice(value, names))?.into_deserializer())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            None | Some(Value::Null) => visitor.visit_none(),
            Some(_) => visitor.visit_some(Self { optional: true, ..self }),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.value {
            value if name == http_url::NAME => {
                let withheld = self.withheld || !value.is_some_and(http_url::is_open);
                visitor.visit_newtype_struct(Self { withheld, ..self })
            }
            _ if name == WITHHELD => visitor.visit_newtype_struct(Self { withheld: true, ..self }),
            _ if name != patch::NAME => visitor.visit_newtype_struct(self),
            None => visitor.visit_none(),
            Some(value) if values::is_blank(value) => visitor.visit_unit(),
            Some(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let object = self.object()?;
        self.findings.faults.declare(self.path.to_string(), fields);
        let quiet = self.quiet || object.is_none();
        visitor.visit_map(DeclaredFields {
            object,
            path: &self.path,
            quiet,
            withheld: self.withheld,
            ahead: fields.iter(),
            name: "",
            findings: self.findings,
        })
    }

    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, DecodeError> {
        let entries = if self.value.is_some_and(values::is_unfit) {
            self.refuse(values::INVALID);
            None
        } else {
            self.object()?
        };
        let ahead: Vec<_> = entries.into_iter().flatten().filter(|(_, value)| !value.is_null()).collect();
        visitor.visit_map(Entries {
            ahead: ahead.into_iter(),
            value: None,
            path: self.path,
            withheld: self.withheld,
            findings: self.findings,
        })
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, DecodeError> {
        // Unlike other types, a list has its own blank value, the empty list.
        let items = match self.value.filter(|value| !value.is_null()) {
            Some(value) => values::items(value),
            None => Err(values::BLANK),
        };
        let items = items.unwrap_or_else(|predicate| {
            self.refuse(predicate);
            Vec::new()
        });
        visitor.visit_seq(Items {
            ahead: items.into_iter(),
            path: self.path,
            withheld: self.withheld,
            findings: self.findings,
        })
    }

    /// Decodes an object as it is, whose entries clients name: no type knows its contents, so none of it counts as read, and
    /// nothing of it is shown.
    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Some(value) if !values::is_unfit(value) => {
                value.clone().deserialize_any(visitor).map_err(de::Error::custom)
            }
            found => {
                self.refuse(if found.is_some() { values::INVALID } else { values::BLANK });
                visitor.visit_unit()
            }
        }
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

/// Offers every field that the struct declares, in that order, sent or not. Ignores other fields.
struct DeclaredFields<'n> {
    object: Option<&'n Map<String, Value>>,
    path: &'n Path<'n>,
    quiet: bool,
    withheld: bool,
    ahead: std::slice::Iter<'static, &'static str>,
    name: &'static str,
    findings: &'n mut DecodeReport,
}

impl<'de> de::MapAccess<'de> for DeclaredFields<'_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let Some(name) = self.ahead.next() else {
            return Ok(None);
        };
        self.name = name;
        seed.deserialize(self.name.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let path = Path { parent: Some(self.path), name: self.name };
        let absent = !self.findings.absent.is_empty() && self.findings.absent.contains(&path.to_string());
        let value = self.object.and_then(|object| object.get(self.name)).filter(|_| !absent);
        let (quiet, withheld) = (self.quiet, self.withheld);
        seed.deserialize(ValueDeserializer {
            value,
            path,
            optional: false,
            quiet,
            withheld,
            findings: self.findings,
        })
    }
}

/// The entries of a map with free keys. Their faults are faults of the map.
struct Entries<'n> {
    ahead: std::vec::IntoIter<(&'n String, &'n Value)>,
    value: Option<&'n Value>,
    path: Path<'n>,
    withheld: bool,
    findings: &'n mut DecodeReport,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let Some((key, value)) = self.ahead.next() else {
            return Ok(None);
        };
        self.value = Some(value);
        seed.deserialize(key.as_str().into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        seed.deserialize(ValueDeserializer {
            value: self.value,
            path: self.path,
            optional: true,
            quiet: false,
            withheld: self.withheld,
            findings: self.findings,
        })
    }
}

/// The items of a list. Their faults are faults of the list: no client addresses an item.
struct Items<'n> {
    ahead: std::vec::IntoIter<&'n Value>,
    path: Path<'n>,
    withheld: bool,
    findings: &'n mut DecodeReport,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some(value) = self.ahead.next() else {
            return Ok(None);
        };
        let item = ValueDeserializer {
            value: Some(value),
            path: self.path,
            optional: false,
            quiet: false,
            withheld: self.withheld,
            findings: self.findings,
        };
        seed.deserialize(item).map(Some)
    }
}
