//! Tracks whether the database can be written. After a failure that is unknown until a write as large as those of payments
//! succeeds: on a full disk a small write often finds room that they do not.

use std::fmt::Display;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::mutex::lock;
use sea_orm::DbErr;

use crate::connect::{answered, lacks_room};
use crate::error::{StoreError, is_unavailable};

/// The known write condition of the database.
#[derive(Debug, Default)]
pub(crate) struct Condition {
    failures: AtomicU64,
    /// The number of failures before the last write that proved the database writable.
    proven: AtomicU64,
    proving: AtomicBool,
    why: Mutex<String>,
}

impl Condition {
    /// Records that a write has failed or is going to fail.
    pub fn failed(&self, why: &dyn Display) {
        let failed_before = self.is_failing();
        *lock(&self.why) = why.to_string();
        self.failures.fetch_add(1, Ordering::SeqCst);
        if !failed_before {
            tracing::error!(%why, "the database cannot be written: payments are refused");
        }
    }

    /// Records the error of a unit if it says that the database cannot be written; `path` is that of SQLite's file.
    pub fn note(&self, error: &StoreError, path: Option<&Path>) {
        if let StoreError::Database(cause) = error
            && is_unavailable(cause)
            && !is_busy(cause)
        {
            match path.and_then(lacks_room) {
                Some(full) => self.failed(&full),
                None => self.failed(cause),
            }
        }
    }

    fn is_failing(&self) -> bool {
        self.failures.load(Ordering::SeqCst) != self.proven.load(Ordering::SeqCst)
    }

    /// Returns why the database cannot be written, if it cannot.
    pub fn why(&self) -> Option<String> {
        self.is_failing().then(|| lock(&self.why).clone())
    }

    /// Returns a [`Doubt`] if a caller has to prove that the database can be written again; one caller at a time gets it.
    ///
    /// Errors: [`StoreError::Unavailable`] to the other callers.
    pub fn doubt(&self) -> Result<Option<Doubt<'_>>, StoreError> {
        if !self.is_failing() {
            return Ok(None);
        }
        if self.proving.swap(true, Ordering::SeqCst) {
            return Err(StoreError::Unavailable);
        }
        Ok(Some(Doubt { failures: self.failures.load(Ordering::SeqCst), of: self }))
    }
}

/// A guard: its owner proves that the database can be written.
pub(crate) struct Doubt<'c> {
    of: &'c Condition,
    failures: u64,
}

impl Doubt<'_> {
    /// Records the proof. It does not cover writes that failed meanwhile.
    pub fn ends(self) {
        if self.of.proven.swap(self.failures, Ordering::SeqCst) != self.failures {
            tracing::info!("the database can be written again");
        }
    }
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        self.of.proving.store(false, Ordering::SeqCst);
    }
}

/// Returns whether the failure was contention, which says nothing about the next write: no free connection, a lock or a
/// time-out.
fn is_busy(error: &DbErr) -> bool {
    const SQLITE_BUSY: [u32; 2] = [5, 6];
    let is_of_sqlite = |code: &str| code.parse().is_ok_and(|code: u32| SQLITE_BUSY.contains(&(code & 0xff)));
    matches!(error, DbErr::ConnectionAcquire(_))
        || answered(error).is_some_and(|code| {
            matches!(code.as_str(), "55P03" | "57014" | "25P03" | "25P04")
                || code.len() < 5 && is_of_sqlite(&code)
        })
}
