//! The parameters of a request that may be shown: the values that a type has read, unless it holds them as a secret. The type
//! decides, not a pattern; of all other parameters only the name is shown.

use base::plain_text::is_plain_name;
use serde_json::{Map, Value};

use super::findings::{ReadValues, ShownValues};
use crate::limits::{LOGGED_BYTES_MAX, LOGGED_CHARACTERS_MAX, LOGGED_NAMES_MAX};

/// Parameters as they may be shown.
#[derive(Debug, Default, PartialEq)]
pub struct LoggableParams {
    /// The parameters as they were sent, with long texts truncated.
    pub parameters: Map<String, Value>,
    /// The names of the others, nested ones with dots: secrets, entries that clients name (metadata), and parameters that the
    /// operation does not read, or could not. A name that is not a plain word is shown as a question mark: by mistake it may be
    /// anything.
    pub hidden: Vec<String>,
}

impl LoggableParams {
    /// Selects the parameters in `tree` that were `read`.
    pub fn new(tree: &Value, read: &ReadValues) -> Self {
        let mut open = read.shown();
        let shown = Self::of_open(tree, &open, true);
        let fits = serde_json::to_vec(&shown.parameters).is_ok_and(|text| text.len() <= LOGGED_BYTES_MAX);
        if fits {
            return shown;
        }
        open.clear();
        Self::of_open(tree, &open, false)
    }

    fn of_open(tree: &Value, open: &ShownValues, has_room: bool) -> Self {
        let mut sorting = LoggableFilter { open, has_room, hidden: Vec::new() };
        let parameters = match sorting.shown(tree, "") {
            Some(Value::Object(parameters)) => parameters,
            _ => Map::new(),
        };
        Self { parameters, hidden: sorting.hidden }
    }
}

struct LoggableFilter<'a> {
    open: &'a ShownValues,
    /// Whether values are shown at all.
    has_room: bool,
    hidden: Vec<String>,
}

impl LoggableFilter<'_> {
    /// Returns what is shown of a value.
    fn shown(&mut self, value: &Value, path: &str) -> Option<Value> {
        let is_empty = value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(Map::is_empty);
        if is_empty {
            return self.shown_empty(value, path);
        }
        match value {
            Value::Object(fields) => {
                let shown = fields.iter().filter_map(|(name, field)| {
                    let is_plain = is_plain_name(name);
                    let dot = if path.is_empty() { "" } else { "." };
                    let inner = format!("{path}{dot}{}", if is_plain { name } else { "?" });
                    if !is_plain && !is_index(name) {
                        self.hide(&inner);
                        return None;
                    }
                    Some((name.clone(), self.shown(field, &inner)?))
                });
                Some(shown.collect::<Map<_, _>>()).filter(|fields| !fields.is_empty()).map(Value::Object)
            }
            Value::Array(items) => {
                let shown: Vec<_> = items.iter().filter_map(|item| self.shown(item, path)).collect();
                Some(shown).filter(|items| !items.is_empty()).map(Value::Array)
            }
            Value::String(text) if self.open.contains(value) => Some(cut(text).into()),
            Value::Bool(_) | Value::Number(_) if self.open.contains(value) => Some(value.clone()),
            Value::Null | Value::String(_) | Value::Bool(_) | Value::Number(_) => {
                self.hide(path);
                None
            }
        }
    }

    /// Returns a value with nothing in it, if all names on its path are words: a request without it is another one.
    fn shown_empty(&mut self, value: &Value, path: &str) -> Option<Value> {
        if self.has_room && !path.contains('?') {
            return Some(value.clone());
        }
        self.hide(path);
        None
    }

    fn hide(&mut self, path: &str) {
        if self.hidden.len() < LOGGED_NAMES_MAX && !self.hidden.iter().any(|known| known == path) {
            self.hidden.push(path.to_owned());
        }
    }
}

/// Returns whether a name is the place in a list, as forms write it.
fn is_index(name: &str) -> bool {
    (1..=2).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_digit())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LOGGED_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use base::secret::{Secret, Withheld};
    use serde::Deserialize;
    use serde::de::DeserializeOwned;
    use serde_json::json;
    use validator::Validate;

    use super::*;
    use crate::params::collect::collect;
    use crate::params::{HttpUrl, Patch};

    #[derive(Deserialize, Validate)]
    #[expect(dead_code, reason = "only read into")]
    struct Inner {
        plain: String,
    }

    #[derive(Deserialize, Validate)]
    #[expect(dead_code, reason = "only read into")]
    struct Maps {
        rights: BTreeMap<String, String>,
        lists: BTreeMap<String, String>,
    }

    #[derive(Deserialize, Validate)]
    #[expect(dead_code, reason = "only read into")]
    struct Card {
        number: Secret,
        cvc: Secret,
        expiry_month: String,
        name: String,
    }

    #[derive(Deserialize, Validate)]
    #[expect(dead_code, reason = "only read into")]
    struct Sample {
        amount: i64,
        capture: Option<bool>,
        text: Patch<String>,
        words: Option<Vec<String>>,
        url: Option<HttpUrl>,
        secret: Option<Secret>,
        secrets: Option<Vec<Secret>>,
        payload: Option<Withheld<Inner>>,
        metadata: Option<Map<String, Value>>,
        card: Option<Card>,
    }

    fn shown<T: DeserializeOwned>(tree: &Value) -> (Value, Vec<String>) {
        let (_, findings) = collect::<T>(tree);
        let LoggableParams { parameters, hidden } = LoggableParams::new(tree, &findings.read);
        (parameters.into(), hidden)
    }

    #[test]
    fn a_value_that_a_type_has_read_is_shown_as_it_was_sent() {
        let sent = json!({
            "amount": "400", "capture": true, "text": " a ", "words": { "1": "b", "0": "a" },
            "url": "https://example.com/?a=b", "card": { "expiry_month": "05", "name": "Zoë" },
        });
        assert_eq!(shown::<Sample>(&sent), (sent.clone(), vec![]));
    }

    #[test]
    fn a_value_that_a_type_holds_as_a_secret_is_named_and_no_more() {
        let sent = json!({
            "amount": 1, "secret": "s1", "secrets": ["s2", "s3"], "payload": { "plain": "s4" },
            "url": "https://s5@example.com",
            "card": { "number": 4_200_000_000_000_000_u64, "cvc": "123", "name": "Roland" },
        });
        let hidden = ["secret", "secrets", "payload.plain", "url", "card.number", "card.cvc"];
        let open = json!({ "amount": 1, "card": { "name": "Roland" } });
        assert_eq!(shown::<Sample>(&sent), (open, hidden.map(str::to_owned).into()));
    }

    #[test]
    fn a_key_that_callers_name_may_be_anything_and_is_named_only() {
        let sent =
            json!({ "amount": 1, "metadata": { "order": "4200000000000000", "card 4200": "x", "n": 1 } });
        let hidden = ["metadata.order", "metadata.?", "metadata.n"];
        assert_eq!(shown::<Sample>(&sent), (json!({ "amount": 1 }), hidden.map(str::to_owned).into()));
    }

    #[test]
    fn a_value_that_is_read_both_ways_is_a_secret() {
        let sent = json!({ "plain": "s" });
        let (mut findings, other) = (collect::<Inner>(&sent).1, collect::<Withheld<Inner>>(&sent).1);
        findings.read.withheld.extend(other.read.withheld);
        assert_eq!(LoggableParams::new(&sent, &findings.read).hidden, ["plain"]);
    }

    #[test]
    fn a_value_that_no_type_could_read_is_named_and_no_more() {
        let sent = json!({
            "amount": "4200000000000000 or so", "capture": ["4200"], "text": { "number": "4200000000000000" }, "crad": "4200",
        });
        let hidden = ["amount", "capture", "text.number", "crad"];
        assert_eq!(shown::<Sample>(&sent), (json!({}), hidden.map(str::to_owned).into()));
    }

    #[test]
    fn an_open_value_under_a_name_that_is_no_word_is_not_shown() {
        let sent =
            json!({ "rights": { "charges": "read", "4200000000000000": "read" }, "lists": { "0": "x" } });
        let open = json!({ "rights": { "charges": "read" }, "lists": { "0": "x" } });
        assert_eq!(shown::<Maps>(&sent), (open, vec!["rights.?".to_owned()]));
    }

    #[test]
    fn a_name_that_is_no_word_is_not_even_named() {
        let sent = json!({
            "4200000000000000": "", "{\"number\":\"4200000000000000\"}": "", "card4200000000000000": 1,
            "card": { "number 4200": "" }, "address_line1": "x", "a": null, "b": {}, "c": [],
        });
        let hidden = ["?", "card.?", "address_line1"];
        assert_eq!(
            shown::<Inner>(&sent),
            (json!({ "a": null, "b": {}, "c": [] }), hidden.map(str::to_owned).into())
        );
    }

    #[test]
    fn long_texts_are_cut_off_and_too_many_of_them_are_named_only() {
        let long = "é".repeat(LOGGED_CHARACTERS_MAX + 1);
        let (open, _) = shown::<Sample>(&json!({ "text": long }));
        assert_eq!(open["text"].as_str().map(|text| text.chars().count()), Some(LOGGED_CHARACTERS_MAX + 1));
        let many = vec!["x".repeat(500); 25];
        let (open, hidden) = shown::<Sample>(&json!({ "amount": 1, "words": many }));
        assert_eq!((open, hidden), (json!({}), vec!["amount".to_owned(), "words".to_owned()]));
    }
}
