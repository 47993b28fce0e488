//! The history of a run: all that was asked, answered and delivered, and what the database holds at the end. Its digest is the same
//! whenever the seed is.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};
use wallet::hexadecimal_of;

/// The history.
#[derive(Clone)]
pub struct History(Arc<Mutex<HistoryRecord>>);

struct HistoryRecord {
    hash: Sha256,
    prints: bool,
    requests: u64,
    is_excused: bool,
    failures: Vec<String>,
}

impl History {
    pub fn new(prints: bool) -> Self {
        Self(Arc::new(Mutex::new(HistoryRecord {
            hash: Sha256::new(),
            prints,
            requests: 0,
            is_excused: false,
            failures: Vec::new(),
        })))
    }

    fn record(&self) -> std::sync::MutexGuard<'_, HistoryRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a line.
    pub fn note(&self, line: impl Display) {
        let line = format!("{} {line}\n", seconds());
        let mut record = self.record();
        record.hash.update(line.as_bytes());
        if record.prints {
            print!("{line}");
        }
    }

    /// Writes a line about a request that was answered.
    pub fn note_answer(&self, line: impl Display) {
        self.record().requests += 1;
        self.note(line);
    }

    /// Writes what must not be.
    pub fn fail(&self, failure: impl Display) {
        let failure = format!("at {} s: {failure}", seconds());
        self.note(&failure);
        self.record().failures.push(failure);
    }

    /// Sets whether the server may answer 500, because its disk fails.
    pub fn excuse(&self, is_excused: bool) {
        self.record().is_excused = is_excused;
    }

    /// Returns whether the server may answer 500.
    pub fn is_excused(&self) -> bool {
        self.record().is_excused
    }

    /// Returns how many requests were answered.
    pub fn requests(&self) -> u64 {
        self.record().requests
    }

    /// Returns what must not be, and the digest.
    pub fn end(&self) -> (Vec<String>, String) {
        let record = self.record();
        let digest = hexadecimal_of(&record.hash.clone().finalize());
        (record.failures.clone(), digest)
    }
}

/// Returns the time since the start, in seconds.
fn seconds() -> String {
    let now = simulated_machine::now();
    format!("{}.{:06}", now.as_secs(), now.subsec_micros())
}
