//! The protocol itself, spoken by hand: who is believed, and what a repeated request does.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use base::clock::{Clock, SystemClock};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::document::site::committed;
use crate::harness::process::{Process, RawResponse, read_first_response, try_to_ask};
use crate::harness::remote_acquirer::{self, SECRET};

/// As an adapter in another language would make it.
pub fn signature(secret: &str, text: &str) -> String {
    let mut hash = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    hash.update(text.as_bytes());
    format!("v1,{}", STANDARD.encode(hash.finalize().into_bytes()))
}

fn now() -> i64 {
    SystemClock.now().seconds()
}

/// A request as it goes over the wire.
#[derive(Clone)]
pub struct SignedRequest {
    method: &'static str,
    path: &'static str,
    timestamp: String,
    key: &'static str,
    body: String,
    version: &'static str,
    environment: &'static str,
    signature: String,
}

impl SignedRequest {
    fn signed(method: &'static str, path: &'static str, key: &'static str, body: &Value) -> Self {
        Self::at(now(), method, path, key, body)
    }

    fn at(at: i64, method: &'static str, path: &'static str, key: &'static str, body: &Value) -> Self {
        let timestamp = at.to_string();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (version, environment, signature) = ("1", "test", String::new());
        let request = Self { method, path, timestamp, key, body, version, environment, signature };
        request.in_environment("test")
    }

    /// Of an environment, and signed so.
    fn in_environment(self, environment: &'static str) -> Self {
        let Self { method, path, timestamp, key, body, .. } = &self;
        let text = format!("request\n{environment}\n{method}\n{path}\n{timestamp}\n{key}\n{body}");
        Self { environment, signature: signature(SECRET, &text), ..self }
    }

    /// Head and body, as they go over the wire.
    pub fn to_http(&self) -> (String, &str) {
        let Self { method, path, timestamp, key, body, version, environment, signature } = self;
        let key = if key.is_empty() { String::new() } else { format!("Idempotency-Key: {key}\r\n") };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: acquirer\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Acquirer-Protocol: {version}\r\nAcquirer-Environment: {environment}\r\nAcquirer-Timestamp: {timestamp}\r\n\
             Acquirer-Signature: {signature}\r\n{key}Content-Length: {}\r\n",
            body.len()
        );
        (head, body)
    }

    fn to(&self, acquirer: SocketAddr) -> RawResponse {
        let (head, body) = self.to_http();
        try_to_ask(acquirer, &format!("{head}\r\n{body}")).unwrap()
    }

    /// The answer, which is signed as ours alone.
    #[track_caller]
    fn answered(&self, acquirer: SocketAddr, status: u16) -> Value {
        self.is_answered(&self.to(acquirer), status)
    }

    /// See that it is.
    #[track_caller]
    pub fn is_answered(&self, response: &RawResponse, status: u16) -> Value {
        assert_eq!(response.status, status, "{}", response.body);
        let text = format!("answer\ntest\n{status}\n{}\n{}", self.signature, response.body);
        assert_eq!(response.headers["acquirer-signature"], signature(SECRET, &text));
        is_of_the_protocol(response);
        response.json()
    }

    /// The acquirer refuses it unread, and does not sign the refusal.
    #[track_caller]
    fn refused(&self, acquirer: SocketAddr, status: u16, error: &str) {
        let response = self.to(acquirer);
        assert_eq!((response.status, response.json()), (status, json!({ "error": error })));
        assert!(!response.headers.contains_key("acquirer-signature"));
        is_of_the_protocol(&response);
    }
}

/// Every answer says of which version and environment it is.
#[track_caller]
fn is_of_the_protocol(response: &RawResponse) {
    let request = ["acquirer-protocol", "acquirer-environment"].map(|name| response.headers[name].as_str());
    assert_eq!(request, ["1", "test"]);
}

fn authorisation() -> Value {
    let card = json!({ "number": "4200000000000000", "cvc": "123", "expiry_month": 5, "expiry_year": 2030 });
    json!({ "card": card, "amount": 400, "currency": "AUD", "capture": true })
}

pub fn authorise(key: &'static str) -> SignedRequest {
    SignedRequest::signed("POST", "/authorise", key, &authorisation())
}

fn reverse(key: &str) -> SignedRequest {
    SignedRequest::signed("POST", "/reverse", "", &json!({ "key": key }))
}

#[test]
fn an_acquirer_tells_whoever_knows_its_secret() {
    let process = remote_acquirer::process();
    let acquirer = process.address;
    let greeting = SignedRequest::signed("GET", "/", "", &Value::Null).answered(acquirer, 200);
    assert_eq!(greeting, json!({ "name": "simulator" }));
    let rates = SignedRequest::signed("GET", "/rates", "", &Value::Null).answered(acquirer, 200);
    assert_eq!((&rates["rates"]["AUD"], &rates["rates"]["USD"]), (&json!(1_000_000), &json!(1_500_000)));
    let card = |number: &str| {
        SignedRequest::signed("POST", "/card", "", &json!({ "number": number })).answered(acquirer, 200)
    };
    let known = json!({ "card": { "scheme": "visa", "issuing_country": "AU", "three_d_secure": true } });
    assert_eq!(card("4200000000000000"), known);
    for unknown in ["4012888888881881", "4200000000000001", ""] {
        assert_eq!(card(unknown), json!({ "card": null }));
    }
    let done = authorise("ch_1:charge").answered(acquirer, 200);
    assert_eq!(done, json!({ "result": "done", "reference": "simulator:ordinary:ch_1:charge" }));
    let follow = json!({ "reference": done["reference"], "amount": 100, "currency": "AUD" });
    let refund = SignedRequest::signed("POST", "/refund", "rf_1:refund", &follow).answered(acquirer, 200);
    assert_eq!(refund, json!({ "result": "done", "succeeds": true }));
    let settle = SignedRequest::signed("POST", "/settle", "", &json!({ "key": "rf_1:refund" }))
        .answered(acquirer, 200);
    assert_eq!((&settle["result"], &settle["reference"]), (&json!("done"), &done["reference"]));
    process.stopped();
}

#[test]
fn nobody_else_is_answered_and_nothing_happens() {
    let process = remote_acquirer::process();
    let acquirer = process.address;
    let request = authorise("ch_1:charge");
    let changed = [
        SignedRequest { signature: String::new(), ..request.clone() },
        SignedRequest { signature: "v1,AAAA".to_owned(), ..request.clone() },
        SignedRequest { signature: request.signature.replace("v1,", "v2,"), ..request.clone() },
        SignedRequest { key: "ch_2:charge", ..request.clone() },
        SignedRequest { key: "", ..request.clone() },
        SignedRequest { path: "/refund", ..request.clone() },
        SignedRequest { timestamp: (now() + 1).to_string(), ..request.clone() },
        SignedRequest { body: request.body.replace("400", "40000"), ..request.clone() },
        SignedRequest {
            signature: signature("another-secret-that-nobody-else-knows", "x"),
            ..request.clone()
        },
    ];
    for request in changed {
        request.refused(acquirer, 401, "signature");
    }
    // Replayed after more than a minute, or signed by a clock that is ahead.
    for at in [now() - 70, now() + 70, 0, i64::MAX, i64::MIN] {
        SignedRequest::at(at, "POST", "/authorise", "ch_1:charge", &authorisation())
            .refused(acquirer, 401, "clock");
    }
    for version in ["2", "0", "one", ""] {
        SignedRequest { version, ..request.clone() }.refused(acquirer, 400, "protocol");
    }
    for environment in ["live", "Test", ""] {
        request.clone().in_environment(environment).refused(acquirer, 400, "environment");
    }
    // A proxy has renamed it.
    SignedRequest { environment: "test", ..request.clone().in_environment("live") }.refused(
        acquirer,
        401,
        "signature",
    );
    let long = json!({ "number": "4".repeat(70_000) });
    SignedRequest::signed("POST", "/card", "", &long).refused(acquirer, 400, "malformed");
    for key in ["ch_1:charge", "ch_2:charge"] {
        assert_eq!(reverse(key).answered(acquirer, 200), json!({ "result": "not_done" }));
    }
    process.stopped();
}

#[test]
fn whoever_does_not_send_what_he_has_announced_is_not_waited_for() {
    let process = remote_acquirer::process();
    let mut stream = TcpStream::connect(process.address).unwrap();
    let request = authorise("ch_1:charge");
    let (head, body) = request.to_http();
    stream.write_all(format!("{head}\r\n{}", &body[1..]).as_bytes()).unwrap();
    let answer = read_first_response(&mut stream);
    assert_eq!((answer.status, answer.json()), (400, json!({ "error": "malformed" })));
    drop(stream);
    process.stopped();
}

#[test]
fn a_signed_call_that_is_wrong_is_refused_and_nothing_happens() {
    let process = remote_acquirer::process();
    let acquirer = process.address;
    let with = |changes: Value| {
        let mut body = authorisation();
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        body
    };
    let malformed = [
        Value::Null,
        json!([]),
        json!({}),
        with(json!({ "amount": 0 })),
        with(json!({ "amount": -400 })),
        with(json!({ "amount": "400" })),
        with(json!({ "amount": 1e30 })),
        with(json!({ "currency": "XXX" })),
        with(json!({ "card": null })),
        with(json!({ "sandbox": "sometimes" })),
    ];
    for body in malformed {
        let answer =
            SignedRequest::signed("POST", "/authorise", "ch_1:charge", &body).answered(acquirer, 400);
        assert_eq!(answer, json!({ "error": "malformed" }), "{body}");
    }
    for (path, body) in [
        ("/authorise", authorisation()),
        ("/capture", json!({ "reference": "simulator:ordinary:x", "amount": 400, "currency": "AUD" })),
        ("/settle", json!({ "key": "" })),
        ("/reverse", json!({ "key": "with a space" })),
    ] {
        let answer = SignedRequest::signed("POST", path, "", &body).answered(acquirer, 400);
        assert_eq!(answer, json!({ "error": "malformed" }), "{path} without a key");
    }
    for (method, path) in [("GET", "/authorise"), ("POST", "/"), ("GET", "/charges"), ("PUT", "/authorise")] {
        let answer =
            SignedRequest::signed(method, path, "ch_1:charge", &authorisation()).answered(acquirer, 404);
        assert_eq!(answer, json!({ "error": "unknown" }), "{method} {path}");
    }
    assert_eq!(reverse("ch_1:charge").answered(acquirer, 200), json!({ "result": "not_done" }));
    process.stopped();
}

#[test]
fn a_request_that_somebody_kept_and_sends_again_does_nothing_more() {
    let process = remote_acquirer::process();
    let acquirer = process.address;
    let request = authorise("ch_1:charge");
    let done = request.answered(acquirer, 200);
    assert_eq!(request.answered(acquirer, 200), done);
    let reversal = reverse("ch_1:charge");
    for _ in 0..2 {
        assert_eq!(reversal.answered(acquirer, 200), done);
        assert_eq!(request.answered(acquirer, 200), json!({ "result": "closed" }));
    }
    process.stopped();
}

#[test]
fn the_committed_document_of_the_protocol_is_current() {
    committed("docs/acquirer/openapi.yaml", &acquirer::http::document::yaml());
}

#[test]
fn the_program_prints_the_document_of_the_protocol() {
    let mut command = remote_acquirer::acquirer("127.0.0.1:0");
    let (code, yaml, stderr) =
        crate::harness::process::output(command.env_remove("CARD_PAYMENTS_ACQUIRER_SECRET").arg("--openapi"));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(yaml == crate::document::site::read("docs/acquirer/openapi.yaml"));
}

#[test]
fn an_order_that_is_not_answered_was_done() {
    let process: Process = remote_acquirer::process();
    let acquirer = process.address;
    let mut body = authorisation();
    body["sandbox"] = json!("approved_but_lost");
    let lost = SignedRequest::signed("POST", "/authorise", "ch_1:charge", &body).answered(acquirer, 200);
    assert_eq!(lost, json!({ "result": "no_answer" }));
    let settled = SignedRequest::signed("POST", "/settle", "", &json!({ "key": "ch_1:charge" }))
        .answered(acquirer, 200);
    assert_eq!(settled, json!({ "result": "done", "reference": "simulator:ordinary:ch_1:charge" }));
    process.stopped();
}
