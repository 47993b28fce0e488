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

use crate::history::{ANSWERED_MAX, History};
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
    /// How long an answer is waited for.
    patience: Duration,
    history: History,
    sent: Arc<AtomicUsize>,
    forwarded: Arc<AtomicU64>,
}

/// A request of JSON.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: Method,
    pub path: String,
    pub key: Option<String>,
    pub body: Value,
    /// The outcome that the sandbox forces.
    pub outcome: Option<&'static str>,
}

impl Call {
    pub fn new(method: Method, path: &str, body: Value) -> Self {
        Self { method, path: path.into(), key: None, body, outcome: None }
    }
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

    /// Returns the code of a refusal with this status.
    #[track_caller]
    pub fn error(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text);
        let body = self.json();
        // The refusal of a transfer or a refund that is not covered is in an array.
        let error = if body.is_array() { &body[0] } else { &body };
        error["error"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the record or the records of a success.
    #[track_caller]
    pub fn record(&self) -> Value {
        assert!(self.status < 300, "{} {}", self.status, self.text);
        self.json()["response"].clone()
    }
}

impl From<Response<Vec<u8>>> for Answer {
    fn from(answer: Response<Vec<u8>>) -> Self {
        Self {
            status: answer.status().as_u16(),
            is_replayed: is_replay(&answer),
            text: String::from_utf8(answer.into_body()).unwrap(),
        }
    }
}

impl Client {
    pub fn new(ports: &[u16], secret: &str, history: &History) -> Self {
        Self {
            outbound: Outbound::new(AddressPolicy::test()),
            ports: ports.into(),
            secret: secret.into(),
            patience: PATIENCE,
            history: history.clone(),
            sent: Arc::default(),
            forwarded: Arc::default(),
        }
    }

    /// Returns a client of another account, over the same connections.
    pub fn keyed(&self, secret: &str) -> Self {
        Self { secret: secret.into(), ..self.clone() }
    }

    /// Returns whether several servers take turns.
    pub fn has_several_servers(&self) -> bool {
        self.ports.len() > 1
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
        let answer = match self.outbound.exchange(sent, ANSWER_BYTES_MAX, self.patience).await {
            Ok(answer) => answer,
            Err(error) => {
                self.history.note(format_args!("<- {path} {key} {error}"));
                return None;
            }
        };
        let (status, text) = (answer.status().as_u16(), String::from_utf8_lossy(answer.body()));
        self.history.note_answer(is_replay(&answer), format_args!("<- {path} {key} {status} {text}"));
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
        let began = simulated_machine::now();
        let mut pause = Duration::from_millis(100);
        loop {
            if let Some(answer) = self.send(request).await.filter(is_definite) {
                return answer;
            }
            let (method, path) = (request.method(), request.uri());
            assert!(!self.history.is_overdue(began), "{method} {path}: what became of it is not known");
            sleep(pause).await;
            pause = (2 * pause).min(Duration::from_secs(5));
        }
    }

    fn request(&self, call: &Call) -> Request<Vec<u8>> {
        let credentials = STANDARD.encode(format!("{}:", self.secret));
        let mut request = Request::builder().method(call.method.clone()).uri(&call.path);
        request = request.header(header::AUTHORIZATION, format!("Basic {credentials}"));
        if let Some(key) = &call.key {
            request = request.header(KEY, key);
        }
        if let Some(word) = call.outcome {
            request = request.header("sandbox-outcome", word);
        }
        if call.body.is_null() {
            return request.body(Vec::new()).unwrap();
        }
        request = request.header(header::CONTENT_TYPE, "application/json");
        request.body(call.body.to_string().into_bytes()).unwrap()
    }

    /// Sends a request until its outcome is known.
    pub async fn finish(&self, call: &Call) -> Answer {
        // An acquirer that gives no answer has done nothing, or it is not known yet.
        let is_known =
            |answer: &Response<_>| is_definite(answer) && !matches!(answer.status().as_u16(), 502 | 504);
        self.repeat(&self.request(call), is_known).await.into()
    }

    /// Sends a request until it is answered; that the acquirer was not reached is an answer.
    pub async fn ask(&self, call: &Call) -> Answer {
        self.repeat(&self.request(call), is_answer).await.into()
    }

    /// Sends a request of JSON until its outcome is known.
    pub async fn insist(&self, method: Method, path: &str, key: Option<&str>, body: &Value) -> Answer {
        let call = Call { key: key.map(str::to_owned), ..Call::new(method, path, body.clone()) };
        self.finish(&call).await
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

    /// Returns routes that forward each request over the cable, with a key if it changes something, until there is an answer, which is
    /// waited for through every pause of the server: a payment that failed is made once more if it is asked for again.
    pub fn forwarding(mut self) -> Router {
        self.patience = ANSWERED_MAX;
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
        self.repeat(&Request::from_parts(head, body), is_answer).await.map(Body::from)
    }
}

fn is_replay(answer: &Response<Vec<u8>>) -> bool {
    answer.headers().contains_key("idempotent-replayed")
}

/// Returns whether an answer says what became of its request, or that the acquirer was not reached.
fn is_answer(answer: &Response<Vec<u8>>) -> bool {
    is_definite(answer) && answer.status().as_u16() != 504
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
