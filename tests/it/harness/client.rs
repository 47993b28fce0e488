//! A caller. Every answer it gets is checked against the document.

use axum::Router;
use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::app::CONTRACT;

/// A caller with or without a key.
#[derive(Clone)]
pub struct Client {
    router: Router,
    key: Option<String>,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Client {
    pub fn new(router: Router, key: Option<String>) -> Self {
        Self { router, key }
    }

    /// The same server with another key.
    pub fn keyed(&self, key: &str) -> Self {
        Self::new(self.router.clone(), Some(key.into()))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path).body(Body::empty()).unwrap()).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path).body(Body::empty()).unwrap()).await
    }

    /// A POST of JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.json(Method::POST, path, body).await
    }

    /// A PUT of JSON.
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.json(Method::PUT, path, body).await
    }

    async fn json(&self, method: Method, path: &str, body: &Value) -> Answer {
        let request = self.request(method, path).header(header::CONTENT_TYPE, "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    /// A POST of the same parameters as a form, nested ones as name[key].
    pub async fn post_form(&self, path: &str, body: &Value) -> Answer {
        let form = serde_qs::Config::new().use_form_encoding(true).serialize_string(body).unwrap();
        let request = self
            .request(Method::POST, path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.send(request.body(Body::from(form)).unwrap()).await
    }

    /// A request with this caller's credentials, to be finished and sent.
    pub fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let request = Request::builder().method(method).uri(path);
        match &self.key {
            Some(key) => {
                request.header(header::AUTHORIZATION, format!("Basic {}", STANDARD.encode(format!("{key}:"))))
            }
            None => request,
        }
    }

    /// Send a request; its answer must be one that the document names.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (method, path) = (request.method().clone(), request.uri().to_string());
        let answer = self.send_unchecked(request).await;
        let (status, body) = (StatusCode::from_u16(answer.status).unwrap(), answer.text.as_bytes());
        if let Err(lie) = CONTRACT.check(&method, &path, status, &answer.headers, body) {
            panic!("the document lies: {lie}\n{}", answer.text);
        }
        answer
    }

    /// What lies at a path beside the API: status, headers, bytes.
    pub async fn bytes(&self, path: &str) -> (u16, HeaderMap, Vec<u8>) {
        let (parts, body) = self.unread(path).await.into_parts();
        (parts.status.as_u16(), parts.headers, body.collect().await.unwrap().to_bytes().to_vec())
    }

    /// An answer of which nothing is read yet.
    pub async fn unread(&self, path: &str) -> http::Response<Body> {
        let request = self.request(Method::GET, path).body(Body::empty()).unwrap();
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Send a request to where the document says nothing: pages, unknown routes, JSONP.
    pub async fn send_unchecked(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        Answer { status: parts.status.as_u16(), headers: parts.headers, text }
    }
}

impl Answer {
    /// The body.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    /// The record or records of a success with this status.
    #[track_caller]
    pub fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json()["response"].clone() }
    }

    /// The body of a refusal with this status and code.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        let body = self.json();
        assert_eq!(body["error"], code, "{}", self.text);
        body
    }

    /// The messages of a 422 `invalid_resource`, as (param, message).
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

/// Parameters of a card that is accepted, or of another number.
pub fn card(number: &str) -> Value {
    json!({
        "number": number, "expiry_month": 5, "expiry_year": 2030, "cvc": if number.starts_with('3') && number.len() == 15 { "1234" } else { "123" },
        "name": "Roland Robot", "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "Australia",
        "address_line2": "", "address_postcode": "6454", "address_state": "WA",
    })
}

/// Parameters of a charge of an amount, paid by a card that is accepted.
pub fn charge(amount: i64) -> Value {
    json!({
        "email": "roland@example.com", "description": "test charge", "amount": amount, "ip_address": "203.192.1.172",
        "card": card("4200000000000000"),
    })
}
