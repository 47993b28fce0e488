//! Requests and their answers, compared with the model.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use chrono::{DateTime, Utc};
use http::{Method, header};
use serde_json::{Value, json};

use crate::harness::random::Random;
use crate::harness::{Answer, Client};

pub type Time = DateTime<Utc>;

/// Requests so far, as lines for curl.
#[derive(Debug, Default, Clone)]
pub struct CurlLog(Arc<Mutex<Vec<String>>>);

impl CurlLog {
    fn add(&self, method: &Method, path: &str, headers: &[(&str, String)], body: &Value, answer: &Answer) {
        let headers = headers.iter().map(|(name, value)| format!(" -H '{name}: {value}'"));
        let headers = headers.collect::<Vec<_>>().concat();
        let body = if body.is_null() { String::new() } else { format!(" --json '{body}'") };
        let line = format!("curl -X {method} -u $KEY: \"$URL{path}\"{headers}{body}  # {}", answer.status);
        self.0.lock().unwrap().push(line);
    }

    pub fn text(&self) -> String {
        self.0.lock().unwrap().join("\n")
    }
}

/// A client some of whose changes have an Idempotency-Key, and are then repeated.
pub struct Wire {
    pub client: Client,
    pub lines: CurlLog,
    /// How many Idempotency-Keys there were, and one that a refusal has left free.
    keys: usize,
    free: Option<String>,
}

/// Returns whether an answer is kept under its key: what changed something, or was declined by the acquirer
/// (`docs/decisions.md`, 65).
fn is_kept(answer: &Answer) -> bool {
    const DECLINES: [&str; 10] = [
        "card_declined",
        "insufficient_funds",
        "invalid_cvv",
        "invalid_card",
        "processing_error",
        "suspected_fraud",
        "expired_card",
        "lost_card",
        "stolen_card",
        "unknown",
    ];
    answer.status < 300 || answer.status == 400 && DECLINES.contains(&error(answer).as_str())
}

/// The code of a refusal.
pub fn error(answer: &Answer) -> String {
    let body = answer.json();
    body.get(0).unwrap_or(&body)["error"].as_str().unwrap_or_default().to_owned()
}

impl Wire {
    pub fn new(client: Client, lines: CurlLog) -> Self {
        Self { client, lines, keys: 0, free: None }
    }

    pub async fn send(&self, method: Method, path: &str, headers: &[(&str, String)], body: &Value) -> Answer {
        let mut request = self.client.request(method.clone(), path);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = if body.is_null() {
            request.body(Body::empty())
        } else {
            request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body.to_string()))
        };
        let answer = self.client.send(request.unwrap()).await;
        self.lines.add(&method, path, headers, body, &answer);
        answer
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], &Value::Null).await
    }

    /// A request that may change something: sometimes under a key, which then does what keys do.
    pub async fn change(
        &mut self,
        random: &mut Random,
        method: Method,
        path: &str,
        headers: &[(&str, String)],
        body: &Value,
    ) -> Answer {
        if random.below(6) > 0 {
            return self.send(method, path, headers, body).await;
        }
        let key = self.free.take().unwrap_or_else(|| {
            self.keys += 1;
            format!("key-{}", self.keys)
        });
        let keyed = |key: &str| [headers, &[("Idempotency-Key", key.to_owned())]].concat();
        let answer = self.send(method.clone(), path, &keyed(&key), body).await;
        if !is_kept(&answer) {
            self.free = Some(key);
            return answer;
        }
        if random.below(2) == 0 {
            let again = self.send(method.clone(), path, &keyed(&key), body).await;
            assert_eq!((again.status, &again.text), (answer.status, &answer.text), "a replay of {path}");
            assert_eq!(again.headers["idempotent-replayed"], "true");
        }
        if random.below(4) == 0 {
            let other = json!({ "email": "other@example.com", "note": "another request" });
            let refused = self.send(method, path, &keyed(&key), &other).await;
            refused.refused(422, "idempotency_key_reused");
        }
        answer
    }

    /// All records of a list, newest first, by pages of any size; its counts are right on each page.
    pub async fn all(&self, path: &str, per_page: usize, long: bool) -> Vec<Value> {
        let (mut all, mut page) = (Vec::new(), 1);
        let joint = if path.contains('?') { '&' } else { '?' };
        loop {
            let answer = self.get(&format!("{path}{joint}per_page={per_page}&page={page}")).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            let body = answer.json();
            let records = body["response"].as_array().unwrap();
            all.extend(records.iter().cloned());
            let count = usize::try_from(body["pagination"]["count"].as_u64().unwrap()).unwrap();
            let pages = count.div_ceil(per_page);
            let previous = (page > 1).then(|| page - 1);
            let next = (page < pages).then_some(page + 1);
            let expected = if long {
                json!({ "current": page, "previous": previous, "next": next, "per_page": per_page, "pages": pages, "count": count })
            } else {
                json!({ "count": count, "per_page": per_page, "current": page })
            };
            assert_eq!(body["pagination"], expected, "{path}");
            assert_eq!(records.len(), per_page.min(count.saturating_sub(per_page * (page - 1))), "{path}");
            if long {
                assert_eq!(body["count"], records.len(), "{path}");
            }
            if page >= pages {
                return all;
            }
            page += 1;
        }
    }
}

/// What the model expects, as far as only the server can know it: a string "?card_" is any token of that prefix, and is
/// learnt. None where all else is equal, or what is not.
pub fn learn(expected: &mut Value, found: &Value) -> Option<String> {
    match (&mut *expected, found) {
        (Value::String(unknown), Value::String(token)) if unknown.starts_with('?') => {
            if token.strip_prefix(&unknown[1..]).is_none_or(|rest| rest.len() != 22) {
                return Some(format!("{token} for {unknown}"));
            }
            unknown.clone_from(token);
            None
        }
        (Value::Object(fields), Value::Object(others)) => {
            if let Some(more) = others.keys().find(|name| !fields.contains_key(*name)) {
                return Some(format!("{more}: unexpected, {}", others[more]));
            }
            fields.iter_mut().find_map(|(name, field)| {
                let Some(other) = others.get(name) else { return Some(format!("{name}: missing")) };
                learn(field, other).map(|fault| format!("{name}: {fault}"))
            })
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            items.iter_mut().zip(others).find_map(|(item, other)| learn(item, other))
        }
        (expected, found) => (expected != found).then(|| format!("{found} where {expected} was expected")),
    }
}
