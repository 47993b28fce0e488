//! The Idempotency-Key claim of a request: the stored form of key and request, and whether the request owns the key.

use std::fmt::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use entity::api_key::{KeyKind, KeyRestriction};
use entity::{AccountToken, Timestamp, idempotency_key};
use serde::Serialize;
use serde_json::{Value, json};
use store::Tx;
use vault::{Purpose, Vault};

use crate::error::{Error, ErrorCode};
use crate::response::{ApiResponse, ResponseKind};

/// A request's claim of its Idempotency-Key.
#[derive(Debug)]
pub struct IdempotencyClaim {
    /// The stored hash of the key.
    hash: [u8; 32],
    /// The stored hash of the request.
    fingerprint: [u8; 32],
    /// The kind of response, once the request's handler has set it.
    kind: OnceLock<ResponseKind>,
    /// Whether the request owns the key.
    is_owned: AtomicBool,
}

/// The parts of a request that must be equal in a repeated one (`docs/decisions.md`, 64).
pub struct IdempotentRequest<'a> {
    /// The kind of API key: part of the key's scope.
    pub kind: KeyKind,
    pub key: &'a str,
    /// HTTP method.
    pub method: &'a str,
    /// The path as the router knows it.
    pub path: &'a str,
    /// Query and body.
    pub parameters: &'a Value,
    /// The restriction of the API key, if the response shows keys: another key must not be given it.
    pub restriction: Option<&'a KeyRestriction>,
}

impl IdempotencyClaim {
    pub fn new(vault: &Vault, request: &IdempotentRequest<'_>) -> Self {
        let parameters = canonical(request.parameters);
        let restriction = request.restriction.map(|restriction| json!(restriction).to_string());
        let mut parts = vec!["request", request.method, request.path, &parameters];
        parts.extend(restriction.as_deref());
        let parts: Vec<_> = parts.into_iter().map(str::as_bytes).collect();
        Self {
            hash: hash(vault, request.kind, request.key),
            fingerprint: vault.keyed_hash(Purpose::Fingerprint, &parts),
            kind: OnceLock::new(),
            is_owned: AtomicBool::new(false),
        }
    }

    /// Sets the kind of response.
    pub fn set_kind(&self, kind: ResponseKind) {
        // A request has one handler, which answers in one way.
        let _ = self.kind.set(kind);
    }

    /// Returns the stored hash of the key.
    pub fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// Claims the key in a payment's intent, before anything else; its commit decides between concurrent requests.
    ///
    /// Refusals: `idempotency_key_in_use`.
    pub fn record(&self, tx: &Tx, account: AccountToken, at: Timestamp) -> Result<(), Error> {
        Ok(tx.append_unique(&self.row(account, at), ErrorCode::IdempotencyKeyInUse)?)
    }

    /// Returns the row with the hashes of key and request.
    pub fn row(&self, account: AccountToken, at: Timestamp) -> idempotency_key::Model {
        idempotency_key::Model {
            account_id: account,
            hash: self.hash.to_vec(),
            fingerprint: self.fingerprint.to_vec(),
            created_at: at,
        }
    }

    /// Returns whether the same request claimed this row.
    pub fn is_of(&self, key: &idempotency_key::Model) -> bool {
        key.fingerprint == self.fingerprint
    }

    /// Returns the response to the request, which shows a record.
    pub fn response<T: Serialize>(&self, record: &T) -> Result<ApiResponse, Error> {
        let kind =
            self.kind.get().ok_or_else(|| Error::internal("a write outside of WriteRequest::answer"))?;
        Ok(kind.finish(record)?)
    }

    /// Marks the claim as owned: its transaction has committed, so a later refusal is not due to a concurrent request.
    pub fn mark_owned(&self) {
        self.is_owned.store(true, Ordering::Release);
    }

    /// Returns whether the request owns the key.
    pub fn is_owned(&self) -> bool {
        self.is_owned.load(Ordering::Acquire)
    }
}

/// Returns the hash under which an Idempotency-Key is stored. Secret and restricted keys share their Idempotency-Keys, so that a
/// client may repeat a request after its key was exchanged.
pub fn hash(vault: &Vault, kind: KeyKind, key: &str) -> [u8; 32] {
    let kind = match kind {
        KeyKind::Secret | KeyKind::Restricted => KeyKind::Secret,
        KeyKind::Publishable => KeyKind::Publishable,
    };
    vault.keyed_hash(Purpose::Fingerprint, &["idempotency key", kind.code(), key].map(str::as_bytes))
}

/// Returns one text for all spellings of the same parameters: fields sorted by name, numbers and booleans as the text
/// that a form sends, without nulls.
fn canonical(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(flag) => canonical(&flag.to_string().into()),
        Value::Number(number) => canonical(&number.to_string().into()),
        Value::String(text) => format!("{}:{text}", text.len()),
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<String>()),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().filter(|(_, value)| !value.is_null()).collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields = fields.into_iter().fold(String::new(), |mut text, (name, value)| {
                // Writing to a String cannot fail.
                let _ = write!(text, "{}:{name}{}", name.len(), canonical(value));
                text
            });
            format!("{{{fields}}}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_the_same_in_any_spelling() {
        let json = json!({ "amount": 400, "capture": true, "card": { "name": "A", "cvc": null }, "reference": null });
        let form = json!({ "card": { "name": "A" }, "capture": "true", "amount": "400" });
        assert_eq!(canonical(&json), canonical(&form));
    }

    #[test]
    fn requests_that_differ_anywhere_are_told_apart() {
        let requests = [
            json!({}),
            json!({ "a": "" }),
            json!({ "a": "b" }),
            json!({ "a": ["b"] }),
            json!({ "a": { "b": "" } }),
            json!({ "ab": "" }),
            json!({ "a": "1:b" }),
            json!({ "a": "b", "c": "d" }),
            json!({ "a": "b1:c1:d" }),
            json!({ "a": ["b", "c"] }),
            json!({ "a": ["c", "b"] }),
        ];
        let mut texts: Vec<_> = requests.iter().map(canonical).collect();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), requests.len());
    }
}
