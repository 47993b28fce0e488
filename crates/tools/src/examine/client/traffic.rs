//! The requests that a client has sent, as far as they are judged: no secret is kept.

use std::borrow::Cow;
use std::time::Duration;

use base::api_path;
use base::plain_text::is_plain_name;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use http::request::Parts;
use http::{HeaderMap, Method, header};
use recording::{Exchange, has_card_number, without_card_numbers};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::faults::Fault;
use crate::document::{Operation, Operations};

/// A request with what became of it.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    /// Its number, in the order of the answers.
    pub number: usize,
    /// The time at which it came, since the start.
    pub at: Duration,
    /// The time at which it was answered, since the start.
    pub answered_at: Duration,
    /// The time of the day at which it came.
    pub time: String,
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The operation; empty if there is none.
    pub operation: String,
    /// Whether its section is judged and disturbed: a test's own preparations are neither.
    pub is_judged: bool,
    /// Stands for the account's key, the method, the path, and the parameters.
    pub fingerprint: String,
    /// The outcome and the challenge that were asked for: what is sent again for another one is a payment of its own.
    pub wished: [Option<Vec<u8>>; 2],
    /// Stands for the account's key.
    pub caller: String,
    pub idempotency_key: Option<String>,
    /// Parameters that the operation does not read.
    pub unread: Vec<String>,
    /// Parameters of the query that look like secrets.
    pub secrets: Vec<String>,
    /// The fault that disturbed it.
    pub fault: Option<Fault>,
    /// The status that the client has got; none if the connection ended.
    pub status: Option<u16>,
    /// The code of an error.
    pub code: String,
    /// The number of seconds that the client was told to wait.
    pub retry_after: Option<u64>,
}

/// Names that stand for secrets wherever they are.
const SECRET_NAMES: [&str; 10] = [
    "access_token",
    "api_key",
    "apikey",
    "authorization",
    "cvc",
    "idempotency-key",
    "key",
    "password",
    "secret",
    "secret_key",
];

/// The headers of the sandbox.
const WISHES: [&str; 2] = ["sandbox-outcome", "sandbox-challenge"];

/// The parameters of any operation.
const GENERAL: [&str; 3] = ["_", "_method", "callback"];

impl Sent {
    /// Reads a request.
    pub fn new(operations: &Operations, head: &Parts, body: &[u8]) -> Self {
        let (method, path) = (head.method.to_string(), head.uri.path());
        let path = api_path::normalise_path(path).unwrap_or_else(|| path.to_owned());
        let operation = operations.find(&method, &path);
        let credentials = secret_key(&head.headers);
        let encoded = head.uri.query().unwrap_or_default();
        let query: Vec<_> = url::form_urlencoded::parse(encoded.as_bytes()).collect();
        let mut names: Vec<_> = query.iter().flat_map(|(name, _)| parts_of(name)).collect();
        add_names_of_body(&head.headers, body, &mut names);
        let is_unread =
            |name: &String| operation.is_some_and(|it| !it.reads(name)) && !GENERAL.contains(&name.as_str());
        // What else stands in a name's place, such as JSON without a type, may hold a card.
        let unread = names.into_iter().filter(is_unread);
        let mut unread: Vec<_> =
            unread.map(|name| if is_plain_name(&name) { name } else { "?".to_owned() }).collect();
        unread.dedup();
        let secrets =
            query.iter().filter(|(name, value)| is_secret(operation, name, value, credentials.as_deref()));
        let secrets = secrets.map(|(name, _)| name.to_lowercase()).collect();
        let caller = digest(&[credentials.unwrap_or_default().as_bytes()]);
        let body = without_boundary(&head.headers, body);
        let fingerprint =
            digest(&[caller.as_bytes(), method.as_bytes(), path.as_bytes(), encoded.as_bytes(), &body]);
        let wished = WISHES.map(|name| head.headers.get(name).map(|value| value.as_bytes().to_owned()));
        let key = head.headers.get("idempotency-key").and_then(|key| key.to_str().ok());
        Self {
            operation: operation.map(Operation::name).unwrap_or_default(),
            is_judged: operation.is_some_and(|operation| operation.section != "sandbox"),
            idempotency_key: key.map(str::to_owned),
            method,
            path,
            fingerprint,
            wished,
            caller,
            unread,
            secrets,
            ..Self::default()
        }
    }

    /// Returns whether it asks for the same as another one.
    pub fn is_same(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint && self.wished == other.wished
    }

    pub fn is_change(&self) -> bool {
        self.method != Method::GET.as_str() && self.method != Method::HEAD.as_str()
    }

    /// Returns whether the client cannot know whether it was done, or may try again.
    pub fn is_open(&self) -> bool {
        matches!(self.status, None | Some(429 | 500 | 502 | 503 | 504))
    }

    /// Returns whether it was sent after the answer to another one came, or that one's client has given up.
    pub fn follows(&self, other: &Self) -> bool {
        other.status.is_none() || self.at >= other.answered_at
    }

    /// Returns it as a line of a log: names of parameters, and no values.
    pub fn exchange(&self) -> Exchange {
        let mut body = Map::new();
        if !self.code.is_empty() {
            body.insert("error".to_owned(), self.code.as_str().into());
        }
        if let Some(fault) = self.fault {
            body.insert("fault".to_owned(), fault.words().into());
        }
        Exchange {
            at: self.time.clone(),
            method: self.method.clone(),
            path: without_card_numbers(&self.path),
            idempotency_key: self.idempotency_key.as_deref().map(without_card_numbers),
            hidden: self.unread.iter().map(|name| without_card_numbers(name)).collect(),
            status: self.status.unwrap_or(NO_ANSWER),
            duration_ms: u64::try_from((self.answered_at.saturating_sub(self.at)).as_millis())
                .unwrap_or(u64::MAX),
            body: if body.is_empty() { Value::Null } else { json!(body) },
            of_log: true,
            ..Exchange::default()
        }
    }
}

/// The status of a request whose answer nobody got.
const NO_ANSWER: u16 = 499;

pub fn secret_key(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (_, credentials) = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"))?;
    let bytes = STANDARD_NO_PAD.decode(credentials.trim().trim_end_matches('=')).ok()?;
    let credentials = String::from_utf8(bytes).ok()?;
    credentials.split(':').next().map(str::to_owned)
}

fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    STANDARD.encode(hash.finalize())
}

fn is_secret(operation: Option<&Operation>, name: &str, value: &str, key: Option<&str>) -> bool {
    let is_named =
        SECRET_NAMES.contains(&name.to_lowercase().as_str()) && !operation.is_some_and(|it| it.reads(name));
    let is_key = ["sk_", "whsec_"].iter().any(|prefix| value.starts_with(prefix))
        || key == Some(value) && !value.is_empty();
    is_named || is_key || has_card_number(value)
}

/// Returns the names in `card[number]`. What metadata holds is the client's own.
fn parts_of(name: &str) -> Vec<String> {
    let parts = name.split('[').map(|part| part.trim_end_matches(']').to_owned());
    let mut parts: Vec<_> = parts.filter(|part| !part.is_empty() && part.parse::<u64>().is_err()).collect();
    if parts.first().is_some_and(|first| first == METADATA) {
        parts.truncate(1);
    }
    parts
}

const METADATA: &str = "metadata";

fn add_names_of_body(headers: &HeaderMap, body: &[u8], names: &mut Vec<String>) {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("application/json") {
        add_names(&serde_json::from_slice(body).unwrap_or_default(), names);
    } else if kind.is_empty() || kind.starts_with("application/x-www-form-urlencoded") {
        names.extend(url::form_urlencoded::parse(body).flat_map(|(name, _)| parts_of(&name)));
    }
}

/// Returns a body in which the boundary of its parts has no name: many clients draw a new one for each try.
fn without_boundary<'b>(headers: &HeaderMap, body: &'b [u8]) -> Cow<'b, [u8]> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let boundary = kind.split_once("boundary=").map(|(_, rest)| rest.split(';').next().unwrap_or_default());
    match boundary.map(|boundary| boundary.trim().trim_matches('"')) {
        Some(boundary) if kind.starts_with("multipart/") && !boundary.is_empty() => {
            let mut named = Vec::with_capacity(body.len());
            let mut rest = body;
            while let Some(at) = rest.windows(boundary.len()).position(|part| part == boundary.as_bytes()) {
                named.extend_from_slice(&rest[..at]);
                rest = &rest[at + boundary.len()..];
            }
            named.extend_from_slice(rest);
            named.into()
        }
        _ => body.into(),
    }
}

fn add_names(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                names.push(name.clone());
                if name != METADATA {
                    add_names(field, names);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_names(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_sent_again_behind_another_boundary_are_the_same_request() {
        let sent = |boundary: &str, text: &str| {
            let body = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n{text}\r\n--{boundary}--\r\n"
            );
            let kind = format!("multipart/form-data; boundary=\"{boundary}\"");
            let (head, ()) = http::Request::builder()
                .method("POST")
                .uri("/1/files/")
                .header(header::CONTENT_TYPE, kind)
                .body(())
                .unwrap()
                .into_parts();
            Sent::new(&Operations::default(), &head, body.as_bytes())
        };
        assert_eq!(sent("one", "receipt").fingerprint, sent("another", "receipt").fingerprint);
        assert_ne!(sent("one", "receipt").fingerprint, sent("one", "letter").fingerprint);
        assert_eq!(sent("one", "receipt").path, "/1/files");
    }
}
