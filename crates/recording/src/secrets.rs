//! Secrets in answers, and card numbers in any text.

use base::card_number::CardNumber;
use serde_json::{Map, Value};

use crate::HIDDEN;

/// Fields of answers whose texts are secret, or drawn again in each run.
const DRAWN: [&str; 22] = [
    "certificate_signing_request",
    "data",
    "ephemeralPublicKey",
    "key",
    "merchantSessionIdentifier",
    "nonce",
    "presigned_url",
    "publicKeyHash",
    "public_key",
    "public_key_hash",
    "publishable",
    "publishable_key",
    "redirect_url",
    "secret",
    "secret_key",
    "signature",
    "signatures",
    "signedKey",
    "signedMessage",
    "test_publishable_api_key",
    "test_secret_api_key",
    "transactionId",
];

/// Secrets are longer than words.
pub const SECRET_LETTERS: usize = 16;

/// Returns whether a field of answers holds a secret, or what is drawn again in each run.
pub fn is_drawn(field: &str) -> bool {
    DRAWN.contains(&field)
}

/// Returns the object that a field holds as a text: the body of a delivery.
pub fn nested_object(field: &str, value: &Value) -> Option<Value> {
    let text = value.as_str().filter(|text| field == "body" && text.starts_with('{'))?;
    serde_json::from_str(text).ok()
}

/// Replaces the secrets and card numbers of an answer.
pub fn without_secrets(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_card_numbers(text),
        Value::Array(items) => items.iter_mut().for_each(without_secrets),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if field.as_str().is_some_and(|text| is_secret(name, text)) {
                    *field = HIDDEN.into();
                } else {
                    without_secrets(field);
                }
            }
            hide_names(fields);
        }
        Value::Number(_) if run_has_card_number(&value.to_string()) => *value = HIDDEN.into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Takes card numbers out of names: those of metadata are a client's own.
pub fn hide_names(fields: &mut Map<String, Value>) {
    if fields.keys().any(|name| run_has_card_number(name)) {
        let named = std::mem::take(fields).into_iter();
        fields.extend(named.map(|(name, field)| (without_card_numbers(&name), field)));
    }
}

/// Returns whether a field of an answer is a secret.
pub fn is_secret(field: &str, text: &str) -> bool {
    is_drawn(field) && text.len() >= SECRET_LETTERS
}

/// The fewest and the most digits of a card number.
const CARD_DIGITS: std::ops::RangeInclusive<usize> = 13..=19;

/// Replaces what may be a card number, wherever a client wrote it.
pub fn without_card_numbers(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, run) = rest.split_at(start);
        let end =
            run.find(|letter: char| !letter.is_ascii_digit() && !letter.is_whitespace() && letter != '-');
        let (run, after) = run.split_at(end.unwrap_or(run.len()));
        shown.push_str(before);
        shown.push_str(if run_has_card_number(run) { HIDDEN } else { run });
        rest = after;
    }
    shown + rest
}

/// Returns whether a text holds what may be a card number.
pub fn has_card_number(text: &str) -> bool {
    without_card_numbers(text) != text
}

/// Returns whether digits may hold a card number.
pub fn run_has_card_number(run: &str) -> bool {
    let digits: String = run.chars().filter(char::is_ascii_digit).collect();
    CARD_DIGITS.into_iter().any(|length| {
        (0..(digits.len() + 1).saturating_sub(length))
            .any(|at| CardNumber::parse(&digits[at..at + length].into()).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_numbers_are_taken_out_of_any_text() {
        for (text, expected) in [
            ("paid by 4000 0566-5566 5556, twice", "paid by {hidden}, twice"),
            ("x4000056655665556", "x{hidden}"),
            ("4000\u{a0}0566\u{2009}5566\t5556", "{hidden}"),
            ("14000056655665556", "{hidden}"),
            ("order 1001 of 2026-11-25", "order 1001 of 2026-11-25"),
            ("4000056655665557", "4000056655665557"),
            ("", ""),
        ] {
            assert_eq!(without_card_numbers(text), expected, "{text}");
        }
    }
}
