//! Receivers of webhooks: one endpoint an account. While there are faults they refuse, hang or answer late.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use base::clock::{Clock, SystemClock};
use base::secret::Secret;
use http::{HeaderMap, StatusCode, Uri};
use outbound::signature;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::sleep;
use web::connections::Connections;
use web::server::{self, ServerPhase};

use crate::harness::random::Random;
use crate::history::History;
use crate::network::at;

/// All endpoints, by their paths.
#[derive(Clone)]
pub struct Receivers(Arc<Shared>);

struct Shared {
    random: Mutex<Random>,
    is_moody: AtomicBool,
    endpoints: Mutex<BTreeMap<String, Endpoint>>,
    history: History,
}

/// An endpoint: its key, and the events that it has accepted, by their sequence.
#[derive(Default)]
struct Endpoint {
    key: Option<Secret>,
    accepted: BTreeMap<u64, Value>,
}

impl Receivers {
    /// Listens.
    pub fn listen(port: u16, seed: u64, history: &History) -> Self {
        let shared = Arc::new(Shared {
            random: Mutex::new(Random(seed)),
            is_moody: AtomicBool::new(true),
            endpoints: Mutex::default(),
            history: history.clone(),
        });
        let receivers = Self(Arc::clone(&shared));
        let routes = Router::new().fallback(move |path: Uri, headers: HeaderMap, body: Bytes| {
            let shared = Arc::clone(&shared);
            async move { shared.receive(path.path(), &headers, &body).await }
        });
        let listener = server::bind(at(port)).unwrap();
        tokio::spawn(async move {
            let (_serving, phase) = watch::channel(ServerPhase::Serving);
            server::serve(listener, routes, &Connections::new(1024), phase).await;
        });
        receivers
    }

    /// From now on every webhook is accepted at once.
    pub fn behave(&self) {
        self.0.is_moody.store(false, Ordering::Relaxed);
    }

    /// Tells an endpoint its key.
    pub fn know(&self, path: &str, key: &str) {
        self.0.endpoints.lock().unwrap().entry(path.into()).or_default().key = Some(key.into());
    }

    /// Returns the events that an endpoint has accepted, by their sequence.
    pub fn accepted(&self, path: &str) -> BTreeMap<u64, Value> {
        self.0
            .endpoints
            .lock()
            .unwrap()
            .get(path)
            .map(|endpoint| endpoint.accepted.clone())
            .unwrap_or_default()
    }
}

impl Shared {
    fn key(&self, path: &str) -> Option<Secret> {
        self.endpoints.lock().unwrap().get(path)?.key.clone()
    }

    async fn receive(&self, path: &str, headers: &HeaderMap, body: &[u8]) -> StatusCode {
        let text = String::from_utf8_lossy(body);
        self.history.note(format_args!("webhook {path} {text}"));
        // Until the request that registers it is answered, an endpoint knows no key.
        let Some(key) = self.key(path) else { return StatusCode::NOT_FOUND };
        if let Err(lie) = signature::verify([&key].into_iter(), headers, SystemClock.now(), body) {
            self.history.fail(format_args!("a webhook to {path}: {lie}"));
        }
        let mood =
            if self.is_moody.load(Ordering::Relaxed) { self.random.lock().unwrap().below(10) } else { 9 };
        match mood {
            0 => return StatusCode::SERVICE_UNAVAILABLE,
            1 => sleep(Duration::from_mins(2)).await,
            2 => sleep(Duration::from_secs(10)).await,
            _ => {}
        }
        let event: Value = serde_json::from_slice(body).unwrap();
        let Some(sequence) = event["sequence"].as_u64() else {
            self.history.fail(format_args!("a webhook to {path} without a sequence: {text}"));
            return StatusCode::BAD_REQUEST;
        };
        let mut endpoints = self.endpoints.lock().unwrap();
        let endpoint = endpoints.entry(path.into()).or_default();
        if let Some(before) = endpoint.accepted.insert(sequence, event.clone())
            && before != event
        {
            self.history.fail(format_args!("two events of one sequence at {path}: {before} and {event}"));
        }
        StatusCode::NO_CONTENT
    }
}
