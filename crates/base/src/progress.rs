//! Progress of long work, reported to an observer.

/// Observes long work.
pub trait Progress: Send + Sync {
    /// Sets the amount of work.
    fn set_total(&self, total: u64);

    /// Sets the amount of work done.
    fn set_done(&self, done: u64);
}

/// Ignores all progress.
impl Progress for () {
    fn set_total(&self, _: u64) {}

    fn set_done(&self, _: u64) {}
}
