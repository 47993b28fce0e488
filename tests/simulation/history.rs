//! The history of a run: all that was asked, answered and delivered, and what the database holds at the end. Its digest is the same
//! whenever the seed is.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::hexadecimal;
use sha2::{Digest, Sha256};

/// How soon each request is answered once the faults have ended: a pause of the server, its time-out, and the recovery of what a killed
/// server left, which the acquirer may have to be asked about several times; and as long as a server's clock was ahead.
pub const ANSWERED_MAX: Duration = Duration::from_mins(15);

/// The history.
#[derive(Clone)]
pub struct History(Arc<Mutex<HistoryRecord>>);

struct HistoryRecord {
    hash: Sha256,
    prints: bool,
    requests: u64,
    replays: u64,
    is_excused: bool,
    /// When the faults ended.
    healed: Option<Duration>,
    failures: Vec<String>,
}

impl History {
    pub fn new(prints: bool) -> Self {
        Self(Arc::new(Mutex::new(HistoryRecord {
            hash: Sha256::new(),
            prints,
            requests: 0,
            replays: 0,
            is_excused: false,
            healed: None,
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

    /// Writes a line about a request that was answered, perhaps as it was before.
    pub fn note_answer(&self, is_replay: bool, line: impl Display) {
        let mut record = self.record();
        record.requests += 1;
        record.replays += u64::from(is_replay);
        drop(record);
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

    /// Notes that the faults have ended.
    pub fn heal(&self) {
        self.record().healed = Some(simulated_machine::now());
    }

    /// Returns whether the faults have ended.
    pub fn is_healed(&self) -> bool {
        self.record().healed.is_some()
    }

    /// Returns whether a request that began then should be answered by now.
    pub fn is_overdue(&self, began: Duration) -> bool {
        let healed = self.record().healed;
        healed.is_some_and(|healed| simulated_machine::now() > healed.max(began) + ANSWERED_MAX)
    }

    /// Returns how many requests were answered.
    pub fn requests(&self) -> u64 {
        self.record().requests
    }

    /// Returns how many of them got an answer that was given before.
    pub fn replays(&self) -> u64 {
        self.record().replays
    }

    /// Returns what must not be, and the digest.
    pub fn end(&self) -> (Vec<String>, String) {
        let record = self.record();
        let digest = hexadecimal::encode(&record.hash.clone().finalize());
        (record.failures.clone(), digest)
    }
}

/// Returns the time since the start, in seconds.
fn seconds() -> String {
    let now = simulated_machine::now();
    format!("{}.{:06}", now.as_secs(), now.subsec_micros())
}
