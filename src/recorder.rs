//! Writes a recording while a server answers.

mod concealment;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use base::mutex::lock;
use base::secret::Secret;
use entity::Timestamp;
use recording::{Exchange, Format, RecordingFile};
use serde_json::{Map, Value};

use self::concealment::Concealment;
use crate::params::ReadValues;

pub use self::concealment::test_card;

/// A recording in progress. Its file is there once it is finished, if the server has begun to serve.
pub struct Recorder(Mutex<State>);

struct State {
    /// None once the file is finished, or cannot be written.
    file: Option<RecordingFile>,
    has_begun: bool,
    /// The first error.
    failed: Option<io::Error>,
    concealment: Concealment,
    /// The parameters of requests with an Idempotency-Key. Those of a repeated request are not read, and are the same.
    keyed: HashMap<String, (Map<String, Value>, Vec<String>)>,
}

/// A request as the server has seen it, secrets included.
pub struct RecordedRequest<'a> {
    /// The time, by the wall clock.
    pub at: Timestamp,
    /// HTTP method.
    pub method: &'a str,
    /// The operation's path.
    pub route: &'a str,
    /// The path, with tokens only.
    pub path: &'a str,
    /// The path as the client sent it.
    pub requested: &'a str,
    /// The key in the Authorization header.
    pub key: Option<&'a Secret>,
    pub idempotency_key: Option<&'a str>,
    /// The Sandbox-Outcome header.
    pub sandbox_outcome: Option<&'a str>,
    /// The Sandbox-Challenge header.
    pub sandbox_challenge: Option<&'a str>,
    /// The preference that counts, of the Prefer header.
    pub prefer: Option<&'static str>,
    pub parameters: &'a Value,
    /// The values of the parameters that were read.
    pub read: &'a ReadValues,
    /// The names of other parts that were refused as they were, and of which nothing is known.
    pub refused: Vec<&'static str>,
    /// HTTP status.
    pub status: u16,
    pub replayed: bool,
    /// The Location header.
    pub location: Option<&'a str>,
    /// Milliseconds.
    pub duration_ms: u64,
    /// The body of the answer.
    pub body: &'a [u8],
}

impl Recorder {
    /// Begins a recording.
    pub fn create(path: &Path, format: Format) -> io::Result<Self> {
        Ok(Self(Mutex::new(State {
            file: Some(RecordingFile::create(path, format)?),
            has_begun: false,
            failed: None,
            concealment: Concealment::default(),
            keyed: HashMap::new(),
        })))
    }

    /// Says what is secret from the start: the keys of the first account; and the server's address.
    pub fn begin(&self, server: &str, keys: Option<(&Secret, &Secret)>) {
        let mut state = self.state();
        (state.has_begun, state.concealment) = (true, Concealment::new(server, keys));
    }

    /// Writes a request. The order is that of the answers, so a request comes after those whose tokens it names.
    pub fn record(&self, request: &RecordedRequest<'_>) {
        let mut state = self.state();
        if state.file.is_none() {
            return;
        }
        let exchange = state.exchange(request);
        let State { file, failed, .. } = &mut *state;
        if let Some(Err(error)) = file.as_mut().map(|file| file.write(&exchange)) {
            (*file, *failed) = (None, Some(error));
        }
    }

    /// Puts the file in its place.
    pub fn finish(&self) -> io::Result<()> {
        let mut state = self.state();
        match (state.failed.take(), state.file.take()) {
            (Some(error), _) => Err(error),
            (None, Some(file)) if state.has_begun => file.finish(),
            (None, _) => Ok(()),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.0)
    }
}

impl State {
    fn exchange(&mut self, request: &RecordedRequest<'_>) -> Exchange {
        let Self { concealment, keyed, .. } = self;
        let mut body: Value = serde_json::from_slice(request.body).unwrap_or_default();
        let key = request.key.map(|key| concealment.key(key));
        let path = concealment.path(request.route, request.path, request.requested);
        let idempotency_key = request.idempotency_key.map(|key| concealment.idempotency_key(key));
        let mut sent = concealment.parameters(request.parameters, request.read);
        if let Some(idempotency_key) = &idempotency_key {
            let request_key = format!("{key:?} {} {path} {idempotency_key}", request.method);
            if request.replayed {
                sent = keyed.get(&request_key).cloned().unwrap_or(sent);
            } else {
                keyed.insert(request_key, sent.clone());
            }
        }
        let (parameters, mut hidden) = sent;
        hidden.extend(request.refused.iter().map(|&part| part.to_owned()));
        concealment.answer(&mut body, "");
        Exchange {
            at: request.at.to_string(),
            method: request.method.to_owned(),
            path,
            key,
            idempotency_key,
            sandbox_outcome: request.sandbox_outcome.map(|outcome| concealment.plain(outcome)),
            sandbox_challenge: request.sandbox_challenge.map(|challenge| concealment.plain(challenge)),
            prefer: request.prefer.map(str::to_owned),
            parameters,
            hidden,
            status: request.status,
            replayed: request.replayed,
            location: request.location.map(|location| concealment.location(location)),
            duration_ms: request.duration_ms,
            body,
            of_log: false,
        }
    }
}
