//! The memory of a process between its requests. A memory knows no context and no service: services ask it, and fill it. A
//! process that starts remembers nothing, and still answers correctly.

pub mod arrivals;
pub mod card_testing;
pub mod charge_search;
pub mod claimed_keys;
pub mod event_sequences;
pub mod key_uses;
pub mod known_keys;
pub mod long_work;
pub mod positions;
pub mod request_log;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use moka::future::Cache;
use tokio::sync::Notify;

use self::arrivals::Arrivals;
use self::card_testing::CardTesting;
use self::charge_search::SearchMemory;
use self::claimed_keys::ClaimedKeys;
use self::event_sequences::EventSequences;
use self::key_uses::KeyUses;
use self::known_keys::{KeptAccount, KeyEntry};
use self::long_work::LongWorkPermits;
use self::positions::Positions;
use self::request_log::RequestLog;
use crate::limits::{
    ACCOUNT_CACHE_IDLE, KEY_CACHE_ENTRIES, KEY_CACHE_LIFETIME, PASSWORDS_HASHED_AT_ONCE, SNAPSHOTS_AT_ONCE,
};

/// The memories of a process.
pub struct Memory {
    /// A cache of API keys.
    pub keys: Cache<[u8; 32], KeyEntry>,
    /// The number of keys that this process has changed.
    pub key_changes: AtomicU64,
    /// A cache of the accounts of payments, by their keys' hashes.
    pub accounts: Cache<[u8; 32], KeptAccount>,
    /// The claimed Idempotency-Keys.
    pub claimed_keys: ClaimedKeys,
    /// The counts of recent uses of API keys.
    pub key_uses: KeyUses,
    /// The counts of failed payments, by which card testing is noticed.
    pub card_testing: CardTesting,
    /// The positions of rows in lists.
    pub positions: Positions,
    /// The memory that makes searches of charges fast.
    pub charge_search: SearchMemory,
    /// The waiting requests.
    pub arrivals: Arc<Arrivals>,
    /// The events without numbers.
    pub event_sequences: Arc<EventSequences>,
    /// The log of the accounts' recent requests, in the test environment.
    pub request_log: RequestLog,
    /// The permits to hash a password: each hash takes 19 MiB.
    pub passwords: LongWorkPermits,
    /// The permits to create or restore a snapshot: each holds all of an account in memory.
    pub snapshots: LongWorkPermits,
    /// Whether the clock of any account may run ahead of the wall clock.
    pub clocks_ahead: AtomicBool,
    /// Notified when a request has made work due now that it does not wait for.
    pub due_work_added: Notify,
    /// Notified when a request has made a webhook due.
    pub due_webhooks: Notify,
}

impl Memory {
    /// Creates empty memories.
    pub fn new(arrivals: Arc<Arrivals>, event_sequences: Arc<EventSequences>) -> Self {
        Self {
            keys: Cache::builder().max_capacity(KEY_CACHE_ENTRIES).time_to_live(KEY_CACHE_LIFETIME).build(),
            key_changes: AtomicU64::default(),
            accounts: Cache::builder()
                .max_capacity(KEY_CACHE_ENTRIES)
                .time_to_idle(ACCOUNT_CACHE_IDLE)
                .build(),
            claimed_keys: ClaimedKeys::default(),
            key_uses: KeyUses::default(),
            card_testing: CardTesting::default(),
            positions: Positions::default(),
            charge_search: SearchMemory::default(),
            request_log: RequestLog::new(Arc::clone(&arrivals)),
            passwords: LongWorkPermits::new(PASSWORDS_HASHED_AT_ONCE),
            snapshots: LongWorkPermits::new(SNAPSHOTS_AT_ONCE),
            arrivals,
            event_sequences,
            clocks_ahead: AtomicBool::new(true),
            due_work_added: Notify::new(),
            due_webhooks: Notify::new(),
        }
    }
}
