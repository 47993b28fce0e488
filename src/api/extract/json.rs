//! Parses JSON bodies. Not by `Value`'s own parser: it loses how a number was spelled, refuses one that no float holds, and reads
//! an object as the text under its first name if `serde_json` reserves that name.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::form;
use super::unreadable::{LEVELS_MAX, TOO_DEEP, Unreadable};

pub(super) const NO_JSON: Unreadable = Unreadable::Malformed("The body is not valid JSON");
pub(super) const NO_OBJECT: Unreadable = Unreadable::Malformed("The body is not a JSON object");

pub(super) const NO_TYPE: Unreadable = Unreadable::Malformed(
    "The body is JSON, but its type is not: send the header Content-Type: application/json",
);

/// Returns whether a body without a type, or with that of a form, is JSON with something in it (`docs/decisions.md`, 432). An object
/// need not be whole: no form begins like one.
pub(super) fn is_meant(body: &[u8]) -> bool {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body).trim_ascii_start();
    match body.split_first() {
        Some((b'{', fields)) => fields.trim_ascii_start().starts_with(b"\""),
        Some((b'[', items)) => {
            !items.trim_ascii().starts_with(b"]") && serde_json::from_slice::<&RawValue>(body).is_ok()
        }
        _ => false,
    }
}

/// Returns whether a body without a type, or with that of a form, is an object that a shell has robbed of its quotes, or that was encoded
/// as a form (`docs/decisions.md`, 432).
pub(super) fn is_mangled(body: &[u8]) -> bool {
    // Most forms begin with a name, and are not decoded twice.
    if !matches!(body.trim_ascii_start().first(), Some(b'{' | b'\'' | b'%' | b'+')) {
        return false;
    }
    let decoded = form::decode(body.strip_suffix(b"=").unwrap_or(body)).unwrap_or_default();
    let text = decoded.trim_matches(|letter: char| letter.is_whitespace() || letter == '\'');
    text.strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|inside| !inside.trim().is_empty())
}

/// Returns whether a body is JSON with nothing in it.
pub(super) fn is_empty(body: &[u8]) -> bool {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body).trim_ascii();
    let inside = |open, close| Some(body.strip_prefix(open)?.strip_suffix(close)?.trim_ascii().is_empty());
    inside(b"{", b"}").or_else(|| inside(b"[", b"]")) == Some(true)
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads a body of JSON. A number that would be printed differently is the text that was sent: text may stand for a number
/// everywhere. A byte order mark may stand before it: some clients write one, and RFC 8259 lets a reader ignore it.
pub(super) fn read(body: &[u8]) -> Result<Map<String, Value>, Unreadable> {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    let sent: &RawValue = serde_json::from_slice(body).map_err(|_| NO_JSON)?;
    match value(sent, LEVELS_MAX)? {
        Value::Object(fields) => Ok(fields),
        // A client that has nothing to send may send null.
        Value::Null => Ok(Map::new()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Err(NO_OBJECT),
    }
}

/// Each level reads its text once more, so `levels` limits the work as well.
fn value(sent: &RawValue, levels: usize) -> Result<Value, Unreadable> {
    let text = sent.get();
    let below = |sent| value(sent, levels.checked_sub(1).ok_or(TOO_DEEP)?);
    match text.as_bytes() {
        [b'{' | b'[', ..] if levels == 0 => Err(TOO_DEEP),
        [b'{', ..] => {
            let Fields(fields) = serde_json::from_str(text).map_err(|_| NO_JSON)?;
            fields.into_iter().map(|(name, field)| Ok((name, below(field)?))).collect()
        }
        [b'[', ..] => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| NO_JSON)?;
            items.into_iter().map(below).collect()
        }
        [b'-' | b'0'..=b'9', ..] => {
            let number = serde_json::from_str(text).ok().filter(|number: &Number| number.to_string() == text);
            Ok(number.map_or_else(|| text.into(), Value::Number))
        }
        _ => serde_json::from_str(text).map_err(|_| NO_JSON),
    }
}

/// The fields of an object in their order, the last one where a name is repeated.
struct Fields<'b>(Vec<(String, &'b RawValue)>);

impl<'de: 'b, 'b> Deserialize<'de> for Fields<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut sent: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = sent.next_entry()? {
                    fields.push(field);
                }
                Ok(fields)
            }
        }

        deserializer.deserialize_map(FieldsVisitor).map(Self)
    }
}
