//! Requests over a cable, repeated under their Idempotency-Key until their outcome is known, as `docs/reliability.md` says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Method, Request, Response, header};
use outbound::{AddressPolicy, Outbound};
use serde_json::Value;
use tokio::time::sleep;

use crate::history::History;
use crate::network::at;

/// Longer than a request may take.
const PATIENCE: Duration = Duration::from_secs(70);
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
const KEY: &str = "idempotency-key";

/// A client of an account.
#[derive(Clone)]
pub struct Client {
    outbound: Outbound,
    /// Of the servers, which take turns.
    ports: Arc<[u16]>,
    secret: String,
    history: History,
    sent: Arc<AtomicUsize>,
    forwarded: Arc<AtomicU64>,
}

/// An answer that says what became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub text: String,
    pub is_replayed: bool,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    /// Returns the record or the records of a success.
    #[track_caller]
    pub fn record(&self) -> Value {
        assert!(self.status < 300, "{} {}", self.status, self.text);
        self.json()["response"].clone()
    }
}

impl Client {
    pub fn new(ports: &[u16], secret: &str, history: &History) -> Self {
        Self {
            outbound: Outbound::new(AddressPolicy::test()),
            ports: ports.into(),
            secret: secret.into(),
            history: history.clone(),
            sent: Arc::default(),
            forwarded: Arc::default(),
        }
    }

    /// Returns a client of another account, over the same connections.
    pub fn keyed(&self, secret: &str) -> Self {
        Self { secret: secret.into(), ..self.clone() }
    }

    /// Sends a request once.
    async fn send(&self, request: &Request<Vec<u8>>) -> Option<Response<Vec<u8>>> {
        let (method, path) = (request.method(), request.uri().path_and_query().unwrap());
        let key = request.headers().get(KEY).and_then(|key| key.to_str().ok()).unwrap_or_default();
        let body = String::from_utf8_lossy(request.body());
        self.history.note(format_args!("-> {method} {path} {key} {body}"));
        let mut sent = request.clone();
        let port = self.ports[self.sent.fetch_add(1, Ordering::Relaxed) % self.ports.len()];
        *sent.uri_mut() = format!("http://{}{path}", at(port)).parse().unwrap();
        let answer = match self.outbound.exchange(sent, ANSWER_BYTES_MAX, PATIENCE).await {
            Ok(answer) => answer,
            Err(error) => {
                self.history.note(format_args!("<- {path} {key} {error}"));
                return None;
            }
        };
        let (status, text) = (answer.status().as_u16(), String::from_utf8_lossy(answer.body()));
        self.history.note_answer(format_args!("<- {path} {key} {status} {text}"));
        if status == 500 && !self.history.is_excused() {
            self.history.fail(format_args!("{method} {path}: {status} {text}"));
        }
        Some(answer)
    }

    /// Sends a request until its outcome is known.
    async fn repeat(
        &self,
        request: &Request<Vec<u8>>,
        is_definite: fn(&Response<Vec<u8>>) -> bool,
    ) -> Response<Vec<u8>> {
        let mut pause = Duration::from_millis(100);
        loop {
            if let Some(answer) = self.send(request).await.filter(is_definite) {
                return answer;
            }
            sleep(pause).await;
            pause = (2 * pause).min(Duration::from_secs(5));
        }
    }

    /// Sends a request of JSON until its outcome is known.
    pub async fn insist(&self, method: Method, path: &str, key: Option<&str>, body: &Value) -> Answer {
        let credentials = STANDARD.encode(format!("{}:", self.secret));
        let mut request = Request::builder().method(method).uri(path);
        request = request.header(header::AUTHORIZATION, format!("Basic {credentials}"));
        if let Some(key) = key {
            request = request.header(KEY, key);
        }
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        if !body.is_null() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        // An acquirer that gives no answer has done nothing, or it is not known yet.
        let is_known =
            |answer: &Response<_>| is_definite(answer) && !matches!(answer.status().as_u16(), 502 | 504);
        let answer = self.repeat(&request.body(bytes).unwrap(), is_known).await;
        Answer {
            status: answer.status().as_u16(),
            is_replayed: answer.headers().contains_key("idempotent-replayed"),
            text: String::from_utf8(answer.into_body()).unwrap(),
        }
    }

    pub async fn get(&self, path: &str) -> Value {
        self.insist(Method::GET, path, None, &Value::Null).await.record()
    }

    /// Returns all records of a list, newest first.
    pub async fn all(&self, list: &str) -> Vec<Value> {
        let mut all = Vec::new();
        for page in 1.. {
            let records = self.get(&format!("/1/{list}?per_page=500&page={page}")).await;
            let records = records.as_array().unwrap();
            if records.is_empty() {
                break;
            }
            all.extend_from_slice(records);
        }
        all
    }

    /// Returns routes that forward each request over the cable, with a key if it changes something, until there is an answer.
    pub fn forwarding(self) -> Router {
        Router::new().fallback(move |request: Request<Body>| {
            let client = self.clone();
            async move { client.forward(request).await }
        })
    }

    async fn forward(self, request: Request<Body>) -> Response<Body> {
        let (mut head, body) = request.into_parts();
        if head.method != Method::GET && !head.headers.contains_key(KEY) {
            let number = self.forwarded.fetch_add(1, Ordering::Relaxed);
            head.headers.insert(KEY, HeaderValue::from_str(&format!("forwarded-{number}")).unwrap());
        }
        let body = to_bytes(body, ANSWER_BYTES_MAX).await.unwrap().to_vec();
        self.repeat(&Request::from_parts(head, body), is_definite).await.map(Body::from)
    }
}

/// Returns whether an answer says what became of its request.
fn is_definite(answer: &Response<Vec<u8>>) -> bool {
    match answer.status().as_u16() {
        429 | 500 | 503 => false,
        // The same request is still on its way, or moves the account's clock.
        409 => {
            let text = String::from_utf8_lossy(answer.body());
            !["idempotency_key_in_use", "clock_moving"].iter().any(|code| text.contains(code))
        }
        _ => true,
    }
}
