//! What a recording holds in place of secrets and card numbers.

use std::collections::HashMap;

use acquirer::test_cards::{self, TestCards};
use base::card_number::CardNumber;
use base::secret::Secret;
use entity::token::is_token;
use recording::secrets::{
    SECRET_LETTERS, has_card_number, hide_names, is_secret, nested_object, run_has_card_number,
    without_card_numbers,
};
use recording::{HIDDEN, KEY, PUBLISHABLE_KEY, SERVER};
use serde_json::{Map, Value};

use crate::limits::BANK_ACCOUNT_DIGITS_MAX;
use crate::params::{ReadValues, ShownValues, without_credentials};

/// The published test number that a placeholder names: `{card visa 0000 AU}`.
pub fn test_card(placeholder: &str) -> Option<&'static str> {
    let words = placeholder.strip_prefix("{card ")?.strip_suffix('}')?;
    let mut numbers = test_cards::TABLE.iter().flat_map(TestCards::numbers);
    numbers.find(|number| card_words(number).is_some_and(|known| known == words))
}

/// Names a test number by what the API shows of it; two that are shown alike do the same.
fn card_words(number: &str) -> Option<String> {
    let row = TestCards::find(number)?;
    let parsed = CardNumber::parse(&number.into())?;
    let last = number.len().checked_sub(4).and_then(|at| number.get(at..))?;
    Some(format!("{} {last} {}", parsed.scheme().code(), row.issuing_country))
}

/// The secrets that a recording has met, and what stands for each.
#[derive(Default)]
pub(super) struct Concealment {
    known: HashMap<String, String>,
    server: String,
    secrets: usize,
    /// What stands for Idempotency-Keys.
    keys: HashMap<String, String>,
}

impl Concealment {
    /// Begins with the server's address and its first account's keys.
    pub(super) fn new(server: &str, keys: Option<(&Secret, &Secret)>) -> Self {
        let mut known = HashMap::new();
        if let Some((secret, publishable)) = keys {
            known.insert(secret.expose().to_owned(), KEY.to_owned());
            known.insert(publishable.expose().to_owned(), PUBLISHABLE_KEY.to_owned());
        }
        Self { known, server: server.to_owned(), ..Self::default() }
    }

    /// Returns what stands for a key.
    pub(super) fn key(&self, key: &Secret) -> String {
        self.known.get(key.expose()).cloned().unwrap_or_else(|| HIDDEN.to_owned())
    }

    /// Returns a path in the router's spelling: of each variable segment a token, or what stands for a secret.
    pub(super) fn path(&self, route: &str, path: &str, requested: &str) -> String {
        // Only a page has an address that is a secret; the request log shows no part of it.
        let last = requested.rsplit('/').next().unwrap_or_default();
        match (route.strip_suffix("/{secret}"), self.known.get(last)) {
            (Some(page), known) => format!("{page}/{}", known.map_or(HIDDEN, String::as_str)),
            (None, _) => path.to_owned(),
        }
    }

    /// Returns parameters without secrets, and the names of those left out.
    pub(super) fn parameters(&self, tree: &Value, read: &ReadValues) -> (Map<String, Value>, Vec<String>) {
        let mut pass = ParameterPass { concealment: self, shown: read.shown(), hidden: Vec::new() };
        let parameters = match pass.value(tree, "", "") {
            Value::Object(parameters) => parameters,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Map::new()
            }
        };
        (parameters, pass.hidden)
    }

    /// Replaces the secrets of a field of an answer, and remembers them.
    pub(super) fn answer(&mut self, value: &mut Value, field: &str) {
        if let Some(mut nested) = nested_object(field, value) {
            self.answer(&mut nested, "");
            *value = nested.to_string().into();
            return;
        }
        match value {
            Value::String(text) if is_secret(field, text) => *text = self.learn(text),
            Value::String(text) => *text = self.plain(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.answer(item, field)),
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    self.answer(value, name);
                }
                hide_names(fields);
            }
            Value::Number(_) if run_has_card_number(&value.to_string()) => *value = HIDDEN.into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Replaces the secret of a Location, and remembers it.
    pub(super) fn location(&mut self, location: &str) -> String {
        match location.rsplit_once("session_token=") {
            Some((before, rest)) => {
                let (session, rest) = rest.split_at(rest.find(['#', '&']).unwrap_or(rest.len()));
                let before = self.plain(without_credentials(before).as_deref().unwrap_or(before));
                format!("{before}session_token={}{}", self.learn(session), self.plain(rest))
            }
            None => self.plain(location),
        }
    }

    /// Returns an Idempotency-Key. What stands for one that may hold a card number is a key as well, another for each: a replay sends it.
    pub(super) fn idempotency_key(&mut self, key: &str) -> String {
        if !has_card_number(key) {
            return self.plain(key);
        }
        let number = self.keys.len() + 1;
        self.keys.entry(key.to_owned()).or_insert_with(|| format!("hidden-key-{number}")).clone()
    }

    /// Returns what stands for a secret. Of an address only the last part is secret.
    fn learn(&mut self, text: &str) -> String {
        let (before, secret) = match text.rsplit_once('/') {
            Some((before, last)) if text.starts_with("http") => (Some(before), last),
            _ => (None, text),
        };
        let secrets = &mut self.secrets;
        let placeholder = self.known.entry(secret.to_owned()).or_insert_with(|| {
            *secrets += 1;
            format!("{{secret {secrets}}}")
        });
        let placeholder = placeholder.clone();
        match before {
            Some(before) => format!("{}/{placeholder}", self.plain(before)),
            None => placeholder,
        }
    }

    /// Returns a text without secrets, card numbers and the server's address.
    pub(super) fn plain(&self, text: &str) -> String {
        if let Some(placeholder) = self.known.get(text) {
            return placeholder.clone();
        }
        let text = without_card_numbers(text);
        if self.server.is_empty() { text } else { text.replace(&self.server, SERVER) }
    }
}

struct ParameterPass<'a> {
    concealment: &'a Concealment,
    shown: ShownValues,
    hidden: Vec<String>,
}

impl ParameterPass<'_> {
    fn value(&mut self, value: &Value, path: &str, name: &str) -> Value {
        match value {
            Value::Object(fields) => {
                let fields = fields.iter().map(|(name, field)| {
                    let name = without_card_numbers(name);
                    let dot = if path.is_empty() { "" } else { "." };
                    let path = format!("{path}{dot}{name}");
                    let field = self.value(field, &path, &name);
                    (name, field)
                });
                Value::Object(fields.collect())
            }
            Value::Array(items) => items.iter().map(|item| self.value(item, path, name)).collect(),
            Value::Null => Value::Null,
            Value::String(text) => self.text(text, value, path, name).into(),
            Value::Bool(_) | Value::Number(_)
                if self.is_plain(value, path) && !run_has_card_number(&value.to_string()) =>
            {
                value.clone()
            }
            Value::Bool(_) | Value::Number(_) => self.text(&value.to_string(), value, path, name).into(),
        }
    }

    /// Metadata is in the answers as well. Of an upload there is only the hash.
    fn is_plain(&self, value: &Value, path: &str) -> bool {
        (self.shown.contains(value) && path != "file") || path.starts_with("metadata.")
    }

    fn text(&mut self, text: &str, value: &Value, path: &str, name: &str) -> String {
        if self.is_plain(value, path) || self.concealment.known.contains_key(text) || is_token(text) {
            return self.concealment.plain(text);
        }
        let number = CardNumber::parse(&text.into());
        if let Some(words) = number.and_then(|number| card_words(number.digits().expose())) {
            return format!("{{card {words}}}");
        }
        let digits = text.len();
        match name {
            // The version of a wallet's payload.
            "protocolVersion" | "version" if digits < SECRET_LETTERS => text.to_owned(),
            // A code's length is checked, and never its digits.
            "cvc" if is_digits(text) && digits <= 4 => "0".repeat(digits),
            // The API shows the last three digits of an account number.
            "number" if path.contains("bank_account") || path == "number" => {
                match text.get(digits.saturating_sub(3)..) {
                    Some(last) if is_digits(text) && (1..=BANK_ACCOUNT_DIGITS_MAX).contains(&digits) => {
                        format!("{}{last}", "0".repeat(digits.saturating_sub(3)))
                    }
                    _ => self.hide(path),
                }
            }
            _ => self.hide(path),
        }
    }

    fn hide(&mut self, path: &str) -> String {
        if !self.hidden.iter().any(|known| known == path) {
            self.hidden.push(path.to_owned());
        }
        HIDDEN.to_owned()
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_test_card_has_words_that_lead_to_one_that_does_the_same() {
        for row in test_cards::TABLE {
            for number in row.numbers() {
                let placeholder = format!("{{card {}}}", card_words(number).unwrap());
                let found = test_card(&placeholder).unwrap();
                assert_eq!(TestCards::find(found).unwrap().outcome, row.outcome, "{placeholder}");
                assert!(!placeholder.contains(number));
            }
        }
        assert_eq!(test_card("{card visa 9999 AU}"), None);
    }

    #[test]
    fn a_bank_account_keeps_its_length_and_its_last_three_digits() {
        for (number, shown) in [
            ("12", "12"),
            ("123", "123"),
            ("987654321", "000000321"),
            ("123456789012", "000000000012"),
            ("1234567890123", HIDDEN),
        ] {
            let sent = json!({ "bank_account": { "number": number } });
            let (parameters, _) = Concealment::default().parameters(&sent, &ReadValues::default());
            assert_eq!(parameters["bank_account"]["number"], shown);
        }
    }

    #[test]
    fn an_idempotency_key_stays_unless_it_holds_a_card_number_and_is_a_key_ever_after() {
        let mut recording = Concealment::default();
        // Its digits hold a card number only without the letters between them.
        let uuid = "4200a000-0000-0000-0abc-def000000000";
        assert!(run_has_card_number(uuid));
        assert_eq!(recording.idempotency_key(uuid), uuid);
        let hidden = ["4200000000000000", "order 4200 0000 0000 0000", "4200000000000000"]
            .map(|key| recording.idempotency_key(key));
        assert_eq!(hidden, ["hidden-key-1", "hidden-key-2", "hidden-key-1"]);
        assert_eq!(recording.plain("hidden-key-1"), "hidden-key-1");
    }
}
