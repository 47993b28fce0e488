//! Receivers of webhooks: one endpoint an account. While there are faults they refuse, hang or answer late.

use std::collections::{BTreeMap, VecDeque};
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

/// What an endpoint does with a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Accept,
    /// Accepts it late, but in time.
    Wait,
    Refuse,
    /// Does not answer in time.
    Hang,
}

/// A webhook that came to an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The number of the attempt, as its header says.
    pub attempt: u32,
    pub kind: String,
    /// The time of the machine.
    pub at: Duration,
}

/// An endpoint.
#[derive(Default)]
struct Endpoint {
    key: Option<Secret>,
    /// The events that it has accepted, by their sequence.
    accepted: BTreeMap<u64, Value>,
    deliveries: Vec<Delivery>,
    /// What it does with the next webhooks, whatever its mood.
    ordered: VecDeque<Mood>,
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

    /// Orders what an endpoint does with the next webhooks, one after the other, though it behaves.
    pub fn order(&self, path: &str, moods: impl IntoIterator<Item = Mood>) {
        self.0.endpoints.lock().unwrap().entry(path.into()).or_default().ordered =
            moods.into_iter().collect();
    }

    /// Returns the webhooks that have come to an endpoint.
    pub fn deliveries(&self, path: &str) -> Vec<Delivery> {
        let endpoints = self.0.endpoints.lock().unwrap();
        endpoints.get(path).map(|endpoint| endpoint.deliveries.clone()).unwrap_or_default()
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

    /// Notes a delivery, and returns what the endpoint does with it.
    fn mood(&self, path: &str, delivery: Delivery) -> Mood {
        let mut endpoints = self.endpoints.lock().unwrap();
        let endpoint = endpoints.entry(path.into()).or_default();
        endpoint.deliveries.push(delivery);
        if let Some(mood) = endpoint.ordered.pop_front() {
            return mood;
        }
        if !self.is_moody.load(Ordering::Relaxed) {
            return Mood::Accept;
        }
        match self.random.lock().unwrap().below(10) {
            0 => Mood::Refuse,
            1 => Mood::Hang,
            2 => Mood::Wait,
            _ => Mood::Accept,
        }
    }

    async fn receive(&self, path: &str, headers: &HeaderMap, body: &[u8]) -> StatusCode {
        let text = String::from_utf8_lossy(body);
        self.history.note(format_args!("webhook {path} {text}"));
        // Until the request that registers it is answered, an endpoint knows no key.
        let Some(key) = self.key(path) else { return StatusCode::NOT_FOUND };
        if let Err(lie) = signature::verify([&key].into_iter(), headers, SystemClock.now(), body) {
            self.history.fail(format_args!("a webhook to {path}: {lie}"));
        }
        let event: Value = serde_json::from_slice(body).unwrap();
        let attempt = headers.get("webhook-attempt").and_then(|attempt| attempt.to_str().ok()?.parse().ok());
        let Some(attempt) = attempt else {
            self.history.fail(format_args!("a webhook to {path} without the number of its attempt"));
            return StatusCode::BAD_REQUEST;
        };
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        match self.mood(path, Delivery { attempt, kind, at: simulated_machine::now() }) {
            Mood::Accept => {}
            Mood::Wait => sleep(Duration::from_secs(10)).await,
            Mood::Refuse => return StatusCode::SERVICE_UNAVAILABLE,
            Mood::Hang => {
                sleep(Duration::from_mins(2)).await;
                return StatusCode::SERVICE_UNAVAILABLE;
            }
        }
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
