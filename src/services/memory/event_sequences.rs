//! The memory of a process about events that have no numbers yet (`services/event_sequence.rs`).

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use base::mutex::lock;
use entity::AccountToken;

use super::arrivals::{Arrivals, Label, Topic};

/// The memory of a process about events that have no numbers yet.
pub struct EventSequences {
    /// The accounts of which it has committed events.
    unnumbered: Mutex<HashSet<AccountToken>>,
    /// Accounts that share a lock are numbered one after the other.
    locks: [tokio::sync::Mutex<()>; 32],
    arrivals: Arc<Arrivals>,
}

impl EventSequences {
    /// Creates the memory; `arrivals` announces the events that this process commits.
    pub fn new(arrivals: Arc<Arrivals>) -> Self {
        let (unnumbered, locks) = Default::default();
        Self { unnumbered, locks, arrivals }
    }

    /// Notes, after the commit, that an account has a new event with these labels.
    pub fn committed(&self, account: AccountToken, labels: Vec<Label>) {
        self.add_unnumbered(account);
        self.arrivals.announce(account, Topic::Events, labels);
    }

    /// Returns the lock of an account's numbers.
    pub fn lock_of(&self, account: AccountToken) -> &tokio::sync::Mutex<()> {
        let mut hasher = DefaultHasher::new();
        account.hash(&mut hasher);
        &self.locks[usize::from(hasher.finish().to_be_bytes()[7]) % self.locks.len()]
    }

    /// Notes that an account has events without numbers.
    pub fn add_unnumbered(&self, account: AccountToken) {
        lock(&self.unnumbered).insert(account);
    }

    /// Takes the accounts that have events without numbers.
    pub fn take_unnumbered(&self) -> HashSet<AccountToken> {
        std::mem::take(&mut *lock(&self.unnumbered))
    }
}
