//! Parses forms: `a[b]=x&c[]=y` into a tree.
//!
//! Our own parser, for bodies and for what `query` leaves to it, because popular client libraries send what `serde_qs` 1.1
//! refuses: `d[][x]=1`, lists whose indexes do not start at 0, `card=` next to `card[number]=1`. `form_urlencoded`, on the
//! other hand, is too lenient: it puts U+FFFD where the encoding is broken, and a repaired text should not describe a payment.

use serde_json::{Map, Value};

use crate::params::LISTS;

use super::unreadable::{LEVELS_MAX, PAIRS_MAX, TOO_DEEP, TOO_MANY, Unreadable};

pub(super) const ENCODING: Unreadable = Unreadable::Malformed("The form is not properly encoded");
const CONFLICT: Unreadable =
    Unreadable::Malformed("A parameter is given both as a value and as an object or list");

/// Reads the pairs of an encoded form. Brackets may be encoded or not; a text without a name is left out.
pub(super) fn read(encoded: &[u8]) -> Result<Map<String, Value>, Unreadable> {
    let mut form = Form::default();
    for pair in encoded.split(|byte| *byte == b'&') {
        let (name, text) = match pair.iter().position(|byte| *byte == b'=') {
            Some(end) => (&pair[..end], &pair[end + 1..]),
            None => (pair, &[][..]),
        };
        form.insert(&decode(name)?, decode(text)?)?;
    }
    Ok(form.tree)
}

/// A form being read, pair by pair.
#[derive(Default)]
pub(super) struct Form {
    pub(super) tree: Map<String, Value>,
    pairs: usize,
}

impl Form {
    /// Inserts a text under its name. If a name comes twice, it is a list's next item, and elsewhere the last text counts.
    pub(super) fn insert(&mut self, name: &str, text: String) -> Result<(), Unreadable> {
        let path = segments(name);
        self.pairs += 1;
        match path[..] {
            _ if self.pairs > PAIRS_MAX => Err(TOO_MANY),
            _ if path.len() > LEVELS_MAX => Err(TOO_DEEP),
            [] | ["", ..] => Ok(()),
            [first, ref rest @ ..] => {
                let is_item = LISTS.contains(&&path[..]);
                insert(self.tree.entry(first).or_insert(Value::Null), rest, text, is_item)
            }
        }
    }
}

/// Splits a name: `a[b][]` is `a`, `b` and an empty segment; a name whose brackets form no such path is one plain
/// segment.
fn segments(name: &str) -> Vec<&str> {
    let nested = name.strip_suffix(']').and_then(|name| name.split_once('['));
    match nested {
        Some((first, rest)) if !first.is_empty() => [first].into_iter().chain(rest.split("][")).collect(),
        _ => vec![name],
    }
}

/// Inserts a text at a path, or as the next item of the list there. A blank text never conflicts with an object or a list of the same
/// name: some libraries send both.
fn insert(slot: &mut Value, path: &[&str], text: String, is_item: bool) -> Result<(), Unreadable> {
    let blank = text.trim().is_empty();
    let Some((&segment, rest)) = path.split_first() else {
        match slot {
            Value::Array(items) if is_item => items.push(Value::String(text)),
            Value::String(first) if is_item => {
                *slot = Value::Array(vec![std::mem::take(first).into(), text.into()]);
            }
            Value::Array(_) | Value::Object(_) if blank => {}
            Value::Array(_) | Value::Object(_) => return Err(CONFLICT),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                *slot = Value::String(text);
            }
        }
        return Ok(());
    };
    if slot.is_null() || slot.as_str().is_some_and(|text| text.trim().is_empty()) {
        *slot = if segment.is_empty() { Value::Array(Vec::new()) } else { Value::Object(Map::new()) };
    }
    if let Value::Array(items) = slot
        && segment.is_empty()
    {
        let open = items.pop_if(|last| last.is_object() && !rest.is_empty() && !has(last, rest));
        let mut item = open.unwrap_or_default();
        insert(&mut item, rest, text, is_item)?;
        items.push(item);
        return Ok(());
    }
    if let Value::Object(fields) = slot
        && !segment.is_empty()
    {
        return insert(fields.entry(segment).or_insert(Value::Null), rest, text, is_item);
    }
    if blank { Ok(()) } else { Err(CONFLICT) }
}

/// Returns whether the item already has the path. `a[][x]=1&a[][y]=2&a[][x]=3` are two objects: a repeated name starts a new one.
fn has(item: &Value, path: &[&str]) -> bool {
    path.iter().try_fold(item, |value, name| value.get(name)).is_some()
}

pub(super) fn decode(encoded: &[u8]) -> Result<String, Unreadable> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut ahead = encoded.iter().copied();
    while let Some(byte) = ahead.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => digit(ahead.next())? << 4 | digit(ahead.next())?,
            other => other,
        });
    }
    String::from_utf8(bytes).map_err(|_| ENCODING)
}

fn digit(byte: Option<u8>) -> Result<u8, Unreadable> {
    let value = byte.and_then(|byte| char::from(byte).to_digit(16));
    value.and_then(|value| u8::try_from(value).ok()).ok_or(ENCODING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tree(form: &str) -> Result<Value, Unreadable> {
        read(form.as_bytes()).map(Value::Object)
    }

    #[test]
    fn brackets_may_be_raw_or_encoded() {
        for form in ["a[b]=x+y", "a%5Bb%5D=x%20y", "a%5bb%5d=x+y"] {
            assert_eq!(tree(form), Ok(json!({ "a": { "b": "x y" } })), "{form}");
        }
    }

    #[test]
    fn lists_may_be_spelled_with_or_without_indexes() {
        for (form, read) in [
            ("a[]=x&a[]=y", json!({ "a": ["x", "y"] })),
            ("a[0]=x&a[1]=y", json!({ "a": { "0": "x", "1": "y" } })),
            ("a[][x]=1&a[][y]=2&a[][x]=3", json!({ "a": [{ "x": "1", "y": "2" }, { "x": "3" }] })),
            (
                "a[][x][y]=1&a[][x][z]=2&a[][x][y]=3",
                json!({ "a": [{ "x": { "y": "1", "z": "2" } }, { "x": { "y": "3" } }] }),
            ),
            ("a[]=", json!({ "a": [""] })),
            ("a=", json!({ "a": "" })),
        ] {
            assert_eq!(tree(form), Ok(read), "{form}");
        }
    }

    #[test]
    fn odd_names_are_plain_names() {
        for (form, read) in [
            ("&&=x&a", json!({ "a": "" })),
            ("[x]=1&a[b=2&a]=3", json!({ "[x]": "1", "a[b": "2", "a]": "3" })),
            ("a=b=c", json!({ "a": "b=c" })),
        ] {
            assert_eq!(tree(form), Ok(read), "{form}");
        }
    }

    #[test]
    fn the_last_of_two_texts_stays() {
        assert_eq!(tree("a=1&a=2"), Ok(json!({ "a": "2" })));
    }

    #[test]
    fn texts_of_a_lists_name_are_its_items() {
        for (form, read) in [
            ("networks=a", json!({ "networks": "a" })),
            ("networks=a&networks=b&networks=c", json!({ "networks": ["a", "b", "c"] })),
            ("networks[]=a&networks=b", json!({ "networks": ["a", "b"] })),
            ("networks=&networks=a", json!({ "networks": ["", "a"] })),
            (
                "source[intermediateSigningKey][signatures]=a&source[intermediateSigningKey][signatures]=b",
                json!({ "source": { "intermediateSigningKey": { "signatures": ["a", "b"] } } }),
            ),
            ("metadata[networks]=a&metadata[networks]=b", json!({ "metadata": { "networks": "b" } })),
        ] {
            assert_eq!(tree(form), Ok(read), "{form}");
        }
        assert_eq!(tree("networks[0]=a&networks=b"), Err(CONFLICT));
    }

    #[test]
    fn a_value_and_an_object_of_one_name_conflict_unless_one_is_blank() {
        for form in
            ["card=x&card[number]=1", "card[number]=1&card=x", "a[]=1&a=2", "a[]=1&a[0]=2", "a[b]=1&a[]=2"]
        {
            assert_eq!(tree(form), Err(CONFLICT), "{form}");
        }
        for form in ["card=&card[number]=1", "card[number]=1&card=+", "card[number]=1&card[]="] {
            assert_eq!(tree(form), Ok(json!({ "card": { "number": "1" } })), "{form}");
        }
    }

    #[test]
    fn broken_encoding_is_refused() {
        for form in ["a=%", "a=%f", "a=%zz", "a=%+1", "%=1", "a=%ff", "a=%C3"] {
            assert_eq!(tree(form), Err(ENCODING), "{form}");
        }
        assert_eq!(read(b"a=\xff"), Err(ENCODING));
    }

    #[test]
    fn six_levels_and_a_thousand_pairs_are_enough() {
        assert!(tree("a[b][c][d][e][f]=1").is_ok());
        assert_eq!(tree("a[b][c][d][e][f][g]=1"), Err(TOO_DEEP));
        assert!(tree(&vec!["a=1"; 1000].join("&")).is_ok());
        assert_eq!(tree(&vec!["a=1"; 1001].join("&")), Err(TOO_MANY));
    }
}
