//! Records that requests wait for (`docs/decisions.md`, 372): this process's commits wake the waiters, and a look now and then
//! finds what other copies write.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::sync::{Mutex, MutexGuard, PoisonError};

use entity::AccountToken;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::error::Error;
use crate::limits::{WAIT_BACKLOG, WAIT_LOOKS};

/// What this process commits for the accounts that somebody waits for.
#[derive(Debug)]
pub struct Arrivals<T>(Mutex<HashMap<AccountToken, broadcast::Sender<T>>>);

impl<T> Default for Arrivals<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Arrivals<T> {
    fn watched(&self) -> MutexGuard<'_, HashMap<AccountToken, broadcast::Sender<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what this process commits for an account from now on.
    pub fn watch(&self, account: AccountToken) -> broadcast::Receiver<T> {
        let mut watched = self.watched();
        watched.retain(|_, sender| sender.receiver_count() > 0);
        watched.entry(account).or_insert_with(|| broadcast::Sender::new(WAIT_BACKLOG)).subscribe()
    }

    /// Returns whether somebody waits for records of this account.
    pub fn is_watched(&self, account: AccountToken) -> bool {
        self.watched().get(&account).is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Wakes those who wait for records of this account.
    pub fn announce(&self, account: AccountToken, committed: T) {
        if let Some(sender) = self.watched().get(&account) {
            // Without a receiver nobody waits.
            let _ = sender.send(committed);
        }
    }
}

/// Waits until `is_satisfied`, which runs after each commit that may matter, and now and then, for what other copies write and
/// for commits whose caller went away.
///
/// Refusals: those of `is_satisfied`.
pub async fn wait_until<T: Clone, F: Future<Output = Result<bool, Error>>>(
    mut arrivals: broadcast::Receiver<T>,
    may_matter: impl Fn(&T) -> bool,
    is_satisfied: impl Fn() -> F,
) -> Result<(), Error> {
    let mut looks = interval_at(Instant::now() + WAIT_LOOKS, WAIT_LOOKS);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let matters = tokio::select! {
            arrived = arrivals.recv() => match arrived {
                Ok(committed) => may_matter(&committed),
                Err(RecvError::Lagged(_)) => true,
                Err(RecvError::Closed) => pending().await,
            },
            _ = looks.tick() => true,
        };
        if matters && is_satisfied().await? {
            return Ok(());
        }
    }
}
