//! Writes a recording while a server answers.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use entity::Timestamp;
use serde_json::{Map, Value};
use tempfile::NamedTempFile;

use super::concealment::Concealment;
use super::har::{self, Entry};
use super::{Exchange, Format, head};
use crate::params::ReadValues;
use crate::sensitive::secret::Secret;

/// A recording in progress. Its file is there once it is finished.
pub struct Recorder {
    path: PathBuf,
    format: Format,
    state: Mutex<State>,
}

struct State {
    /// None once the file is finished, or cannot be written.
    file: Option<BufWriter<NamedTempFile>>,
    /// The first error.
    failed: Option<io::Error>,
    count: usize,
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
    /// The Idempotency-Key.
    pub idempotency_key: Option<&'a str>,
    /// The Sandbox-Outcome header.
    pub sandbox_outcome: Option<&'a str>,
    /// The parameters.
    pub parameters: &'a Value,
    /// The values of the parameters that were read.
    pub read: &'a ReadValues,
    /// HTTP status.
    pub status: u16,
    /// Whether the answer is a replayed one.
    pub replayed: bool,
    /// The Location header.
    pub location: Option<&'a str>,
    /// Milliseconds.
    pub duration_ms: u64,
    /// The body of the answer.
    pub body: &'a [u8],
}

impl Recorder {
    /// Begins a file beside its later place.
    pub fn create(path: &Path, format: Format) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = BufWriter::new(NamedTempFile::new_in(folder)?);
        match format {
            Format::Har => file.write_all(har::frame().0.as_bytes())?,
            Format::JsonLines => writeln!(file, "{}", head())?,
        }
        let state = State {
            file: Some(file),
            failed: None,
            count: 0,
            concealment: Concealment::default(),
            keyed: HashMap::new(),
        };
        Ok(Self { path: path.to_owned(), format, state: Mutex::new(state) })
    }

    /// Says what is secret from the start: the keys of the first account; and the server's address.
    pub fn begin(&self, server: &str, keys: Option<(&Secret, &Secret)>) {
        self.state().concealment = Concealment::new(server, keys);
    }

    /// Writes a request. The order is that of the answers, so a request comes after those whose tokens it names.
    pub fn record(&self, request: &RecordedRequest<'_>) {
        let mut state = self.state();
        if state.file.is_none() {
            return;
        }
        let exchange = state.exchange(request);
        let State { file, failed, count, .. } = &mut *state;
        let Some(open) = file else { return };
        let written = match self.format {
            Format::Har => {
                let comma = if *count == 0 { "" } else { ",\n" };
                serde_json::to_string(&Entry::new(&exchange)).map(|entry| format!("{comma}{entry}"))
            }
            Format::JsonLines => serde_json::to_string(&exchange).map(|line| line + "\n"),
        };
        let written = written.map_err(io::Error::from).and_then(|text| open.write_all(text.as_bytes()));
        *count += 1;
        if let Err(error) = written {
            (*file, *failed) = (None, Some(error));
        }
    }

    /// Puts the file in its place, and returns how many requests it holds.
    pub fn finish(&self) -> io::Result<usize> {
        let mut state = self.state();
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        let Some(mut file) = state.file.take() else { return Ok(state.count) };
        if self.format == Format::Har {
            file.write_all(har::frame().1.as_bytes())?;
        }
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(state.count)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn exchange(&mut self, request: &RecordedRequest<'_>) -> Exchange {
        let Self { concealment, keyed, .. } = self;
        let mut body: Value = serde_json::from_slice(request.body).unwrap_or_default();
        let key = request.key.map(|key| concealment.key(key));
        let path = concealment.path(request.route, request.path, request.requested);
        let idempotency_key = request.idempotency_key.map(|key| concealment.plain(key));
        let mut sent = concealment.parameters(request.parameters, request.read);
        if let Some(idempotency_key) = &idempotency_key {
            let request_key = format!("{key:?} {} {path} {idempotency_key}", request.method);
            if request.replayed {
                sent = keyed.get(&request_key).cloned().unwrap_or(sent);
            } else {
                keyed.insert(request_key, sent.clone());
            }
        }
        let (parameters, hidden) = sent;
        concealment.answer(&mut body, "");
        Exchange {
            at: request.at.to_string(),
            method: request.method.to_owned(),
            path,
            key,
            idempotency_key,
            sandbox_outcome: request.sandbox_outcome.map(|outcome| concealment.plain(outcome)),
            parameters,
            hidden,
            status: request.status,
            replayed: request.replayed,
            location: request.location.map(|location| concealment.location(location)),
            duration_ms: request.duration_ms,
            body,
        }
    }
}
