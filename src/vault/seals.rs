//! How often each data key seals.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

/// Seals that are not written down yet, by data key.
#[derive(Debug, Default)]
pub struct Seals(Mutex<HashMap<Uuid, u64>>);

impl Seals {
    /// So many more by this key.
    pub fn add(&self, key: Uuid, n: u64) {
        *self.counted().entry(key).or_default() += n;
    }

    /// Those by this key.
    pub fn of(&self, key: Uuid) -> u64 {
        self.counted().get(&key).copied().unwrap_or_default()
    }

    /// All of them, to be written down, always in the same order: two servers that write the same rows wait for each other.
    pub fn take(&self) -> Vec<(Uuid, u64)> {
        let mut taken: Vec<_> = std::mem::take(&mut *self.counted()).into_iter().collect();
        taken.sort_unstable();
        taken
    }

    fn counted(&self) -> MutexGuard<'_, HashMap<Uuid, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
