//! A client. Every answer that it gets is checked against the document.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::app::CONTRACT;

/// A client with or without a key.
#[derive(Clone)]
pub struct Client {
    router: Router,
    key: Option<String>,
    /// Whether it sends again what a busy server has refused.
    is_patient: bool,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Client {
    pub fn new(router: Router, key: Option<String>) -> Self {
        Self { router, key, is_patient: false }
    }

    /// Returns a client that waits and sends a GET, a DELETE or JSON again, as the document says, if a busy server refuses it with
    /// 503: callers of one row are served one after the other, and the last of them may wait for longer than a unit of work waits for
    /// its connection. What had no connection has done nothing.
    pub fn patient(self) -> Self {
        Self { is_patient: true, ..self }
    }

    /// Returns a client of the same server with another key.
    pub fn keyed(&self, key: &str) -> Self {
        Self::new(self.router.clone(), Some(key.into()))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send_patiently(|| self.request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send_patiently(|| self.request(Method::DELETE, path).body(Body::empty()).unwrap()).await
    }

    /// Sends a POST of JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.json(Method::POST, path, body).await
    }

    /// Sends a PUT of JSON.
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.json(Method::PUT, path, body).await
    }

    async fn json(&self, method: Method, path: &str, body: &Value) -> Answer {
        let request = || {
            let request = self.request(method.clone(), path).header(header::CONTENT_TYPE, "application/json");
            request.body(Body::from(body.to_string())).unwrap()
        };
        self.send_patiently(request).await
    }

    /// Sends a request, again and again if a busy server refuses it with 503 and the client is patient.
    pub async fn send_patiently(&self, request: impl Fn() -> Request<Body>) -> Answer {
        const RETRIES: usize = 60;
        let mut answer = self.send(request()).await;
        for _ in 0..RETRIES {
            if !self.is_patient || answer.status != 503 {
                break;
            }
            let seconds = answer.headers[header::RETRY_AFTER].to_str().unwrap().parse().unwrap();
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            answer = self.send(request()).await;
        }
        answer
    }

    /// Returns the available and pending AUD cents.
    pub async fn balance(&self) -> (i64, i64) {
        let balance = self.get("/1/balance").await.ok(200);
        let amount = |list: &str| balance[list][0]["amount"].as_i64().unwrap();
        (amount("available"), amount("pending"))
    }

    /// Sends a POST of a form, nested parameters as name[key].
    pub async fn post_form(&self, path: &str, body: &Value) -> Answer {
        let form = serde_qs::Config::new().use_form_encoding(true).serialize_string(body).unwrap();
        let request = self
            .request(Method::POST, path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request.body(Body::from(form)).unwrap()).await
    }

    /// Begins a request with this client's credentials.
    pub fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let request = Request::builder().method(method).uri(path);
        match &self.key {
            Some(key) => {
                request.header(header::AUTHORIZATION, format!("Basic {}", STANDARD.encode(format!("{key}:"))))
            }
            None => request,
        }
    }

    /// Sends a request; its answer must be one that the document describes.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (request.method().clone(), request.uri().to_string());
        let answer = self.send_unchecked(request).await;
        let (status, body) = (StatusCode::from_u16(answer.status).unwrap(), answer.text.as_bytes());
        if let Err(lie) = CONTRACT.check(&method, &path, status, &answer.headers, body) {
            panic!("the document lies: {lie}\n{}", answer.text);
        }
        answer
    }

    /// Gets a path beside the API. Returns status, headers, bytes.
    pub async fn bytes(&self, path: &str) -> (u16, HeaderMap, Vec<u8>) {
        let (parts, body) = self.unread(path).await.into_parts();
        (parts.status.as_u16(), parts.headers, body.collect().await.unwrap().to_bytes().to_vec())
    }

    /// Gets a path. Returns an answer whose body is not read yet.
    pub async fn unread(&self, path: &str) -> http::Response<Body> {
        self.respond(self.request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    /// Sends a request. Returns an answer whose body is not read yet.
    pub async fn respond(&self, request: Request<Body>) -> http::Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Sends a request that the document does not describe: pages, unknown routes, JSONP.
    pub async fn send_unchecked(&self, request: Request<Body>) -> Answer {
        let (parts, body) = self.respond(request).await.into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        Answer { status: parts.status.as_u16(), headers: parts.headers, text }
    }
}

impl Answer {
    /// Returns the body.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    /// Expects a success with this status. Returns its record or records.
    #[track_caller]
    pub fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json()["response"].clone() }
    }

    /// Expects a refusal with this status and code. Returns its body.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        let body = self.json();
        assert_eq!(body["error"], code, "{}", self.text);
        body
    }

    /// Expects a 404 `not_found`.
    #[track_caller]
    pub fn not_found(&self) {
        let body = self.refused(404, "not_found");
        assert_eq!(body["error_description"], "The requested resource could not be found.");
    }

    /// Expects a 422 `invalid_resource`. Returns its messages as (param, message).
    #[track_caller]
    pub fn faults(&self) -> Vec<(String, String)> {
        let body = self.refused(422, "invalid_resource");
        let messages = body["messages"].as_array().expect("messages").clone();
        messages
            .into_iter()
            .map(|message| {
                let text = |name: &str| message[name].as_str().unwrap().to_owned();
                assert_eq!(text("code"), format!("{}_invalid", text("param").replace('.', "_")));
                (text("param"), text("message"))
            })
            .collect()
    }
}

/// Returns the parameters of a card.
pub fn card(number: &str) -> Value {
    json!({
        "number": number, "expiry_month": 5, "expiry_year": 2030, "cvc": if number.starts_with('3') && number.len() == 15 { "1234" } else { "123" },
        "name": "Roland Robot", "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "Australia",
        "address_line2": "", "address_postcode": "6454", "address_state": "WA",
    })
}

/// Returns the parameters of a charge, paid by a card that is accepted.
pub fn charge(amount: i64) -> Value {
    json!({
        "email": "roland@example.com", "description": "test charge", "amount": amount, "ip_address": "203.192.1.172",
        "card": card("4200000000000000"),
    })
}

/// Returns parameters with others added or replaced.
pub fn with(mut parameters: Value, others: &Value) -> Value {
    for (name, value) in others.as_object().expect("an object") {
        parameters[name] = value.clone();
    }
    parameters
}
