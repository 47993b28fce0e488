//! How far long work has come, for whoever watches it.

/// Watches work that may take long.
pub trait Progress: Send + Sync {
    /// There is so much to do, in all.
    fn expect(&self, total: u64);

    /// So much of it is done.
    fn reach(&self, done: u64);
}

/// Nobody watches.
impl Progress for () {
    fn expect(&self, _: u64) {}

    fn reach(&self, _: u64) {}
}
