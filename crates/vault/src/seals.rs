//! Counts the seals of each data key.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use base::mutex::lock;
use uuid::Uuid;

/// The seals that are not stored yet, by data key.
#[derive(Debug, Default)]
pub struct Seals(Mutex<HashMap<Uuid, u64>>);

impl Seals {
    /// Adds `n` seals of a key.
    pub fn add(&self, key: Uuid, n: u64) {
        *self.counted().entry(key).or_default() += n;
    }

    /// Returns how many seals of a key are not stored yet.
    pub fn count(&self, key: Uuid) -> u64 {
        self.counted().get(&key).copied().unwrap_or_default()
    }

    /// Takes all counts to be stored, always in the same order: two servers that write the same rows wait for each
    /// other.
    pub fn take(&self) -> Vec<(Uuid, u64)> {
        let mut taken: Vec<_> = std::mem::take(&mut *self.counted()).into_iter().collect();
        taken.sort_unstable();
        taken
    }

    fn counted(&self) -> MutexGuard<'_, HashMap<Uuid, u64>> {
        lock(&self.0)
    }
}
