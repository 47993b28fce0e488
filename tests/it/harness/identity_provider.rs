//! An OpenID Connect provider on a socket of this machine. It signs what a test orders, right or wrong.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::{Form, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub const CLIENT_ID: &str = "dashboard";
pub const CLIENT_SECRET: &str = "secret-of-the-dashboard-0123456789";

/// How an ID token is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signing {
    /// By the published key.
    Right,
    /// By another key.
    Strange,
    /// Not at all.
    None,
    /// By the client's secret, which is no secret of the provider's alone.
    Shared,
}

/// A provider, which stops when it is dropped.
pub struct StubProvider {
    pub issuer: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    issuer: String,
    /// The codes that it has given, what it signs for each, and how.
    grants: Mutex<Vec<Grant>>,
    /// Whether it gives a code's token again and again.
    repeats: Mutex<bool>,
    /// The bytes beside its key in the set of its keys.
    padding: AtomicUsize,
}

#[derive(Clone)]
struct Grant {
    code: String,
    challenge: String,
    claims: Value,
    signing: Signing,
}

impl StubProvider {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let issuer = format!("http://{address}");
        let shared = Arc::new(Shared {
            issuer: issuer.clone(),
            grants: Mutex::default(),
            repeats: Mutex::default(),
            padding: AtomicUsize::new(0),
        });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(document))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { issuer, shared, server }
    }

    /// Gives a code for these claims to the sign-in with this challenge.
    pub fn grant(&self, code: &str, challenge: &str, claims: Value, signing: Signing) {
        let grant = Grant { code: code.into(), challenge: challenge.into(), claims, signing };
        self.shared.grants.lock().unwrap().push(grant);
    }

    /// From now on a code works any number of times, which no provider should allow.
    pub fn repeats(&self) {
        *self.shared.repeats.lock().unwrap() = true;
    }

    /// From now on the set of its keys has so many bytes more.
    pub fn pads_keys(&self, bytes: usize) {
        self.shared.padding.store(bytes, Ordering::Relaxed);
    }

    /// Answers no more.
    pub fn stop(&self) {
        self.server.abort();
    }
}

impl Drop for StubProvider {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn document(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let at = |path: &str| format!("{}{path}", shared.issuer);
    Json(json!({
        "issuer": shared.issuer,
        "authorization_endpoint": at("/authorize"),
        "token_endpoint": at("/token"),
        "jwks_uri": at("/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256", "HS256", "none"],
    }))
}

fn key(number: u8) -> SigningKey {
    SigningKey::from_slice(&[number; 32]).unwrap()
}

async fn keys(State(shared): State<Arc<Shared>>) -> Json<Value> {
    let point = key(1).verifying_key().to_sec1_point(false);
    let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let bytes = point.as_bytes();
    Json(json!({ "keys": [{
        "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "first",
        "x": part(&bytes[1..33]), "y": part(&bytes[33..]),
    }], "padding": "x".repeat(shared.padding.load(Ordering::Relaxed)) }))
}

/// Exchanges a code, of this client alone and with the verifier of its challenge.
async fn token(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    Form(form): Form<Map<String, Value>>,
) -> (StatusCode, Json<Value>) {
    let refused = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error })));
    let client = format!("Basic {}", STANDARD.encode(format!("{CLIENT_ID}:{CLIENT_SECRET}")));
    if headers.get("authorization").is_none_or(|given| given != client.as_str()) {
        return refused("invalid_client");
    }
    let mut grants = shared.grants.lock().unwrap();
    let verifier = form["code_verifier"].as_str().unwrap_or_default();
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
    let found = grants.iter().position(|grant| form["code"] == grant.code && challenge == grant.challenge);
    let Some(found) = found.filter(|_| form["redirect_uri"] == "http://test/dashboard/sign-in/answer") else {
        return refused("invalid_grant");
    };
    let grant = grants[found].clone();
    if !*shared.repeats.lock().unwrap() {
        grants.remove(found);
    }
    let answer = json!({
        "access_token": "access-token-of-the-provider", "token_type": "Bearer", "id_token": signed(&grant.claims, grant.signing),
    });
    (StatusCode::OK, Json(answer))
}

fn signed(claims: &Value, signing: Signing) -> String {
    let algorithm = match signing {
        Signing::Right | Signing::Strange => "ES256",
        Signing::None => "none",
        Signing::Shared => "HS256",
    };
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(&json!({ "alg": algorithm, "kid": "first" })), part(claims));
    let by = |key: SigningKey| {
        let signature: Signature = key.sign(text.as_bytes());
        signature.to_bytes().to_vec()
    };
    let signature = match signing {
        Signing::Right => by(key(1)),
        Signing::Strange => by(key(2)),
        Signing::None => Vec::new(),
        Signing::Shared => {
            let mut mac = Hmac::<Sha256>::new_from_slice(CLIENT_SECRET.as_bytes()).unwrap();
            mac.update(text.as_bytes());
            mac.finalize().into_bytes().to_vec()
        }
    };
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}
