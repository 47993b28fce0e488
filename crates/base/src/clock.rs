//! Time and ids as parameters: tests move the clock and rely on the order of ids.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use entity::token::TokenKind;
use entity::{TimeSpan, Timestamp, Token};
use sha2::{Digest as _, Sha256};
use uuid::{ContextV7, Uuid};

use crate::mutex::lock;
use crate::platform;
use crate::random::RandomSource;

/// The wall clock. An account's own clock is this plus the account's offset (`docs/decisions.md`, 290).
pub trait Clock: Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Returns the real time since a fixed instant, for pacing: it never goes back, even if the clock is set, and goes on while
    /// the machine sleeps.
    fn elapsed(&self) -> Duration;
}

/// The variable by which tests start programs as of another time (`docs/contributing.md`): the instant at which a program begins, or
/// milliseconds, so that a program which is started again goes on. Only builds of tests know it, as they know crash points.
pub const TESTS_AS_OF: Option<&str> =
    if cfg!(feature = "crash-points") { Some("CARD_PAYMENTS_TESTS_AS_OF") } else { None };

/// The machine's clock.
pub struct SystemClock;

impl SystemClock {
    /// Returns nanoseconds since 1970, for traces, which distinguish events within one request.
    #[expect(clippy::disallowed_methods, reason = "beside the one place that may read the machine's clock")]
    pub fn unix_nanos() -> u64 {
        let nanos = chrono::Utc::now().timestamp_nanos_opt();
        nanos.and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or_default()
    }

    /// Returns how far tests have this clock ahead of the machine's.
    pub fn ahead() -> TimeSpan {
        static AHEAD: LazyLock<TimeSpan> = LazyLock::new(|| {
            let given = TESTS_AS_OF.and_then(|name| std::env::var(name).ok()).unwrap_or_default();
            let instant = chrono::DateTime::parse_from_rfc3339(&given).map(|time| time.to_utc().into());
            let ahead = instant.map(|instant: Timestamp| instant - SystemClock::machine());
            ahead.unwrap_or_else(|_| given.parse().map(TimeSpan::from_millis).unwrap_or_default())
        });
        *AHEAD
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that may read the machine's clock")]
    fn machine() -> Timestamp {
        chrono::Utc::now().into()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Self::machine() + Self::ahead()
    }

    fn elapsed(&self) -> Duration {
        platform::since_boot()
    }
}

/// A wall clock that stands still: that of a server with a seed, on which time passes only where an account's clock is moved.
pub struct FixedClock(pub Timestamp);

impl FixedClock {
    /// 2026-01-01T00:00:00Z.
    pub const SEEDED: Self = Self(Timestamp::from_millis(1_767_225_600_000));
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }

    fn elapsed(&self) -> Duration {
        SystemClock.elapsed()
    }
}

/// The only generator of ids: UUIDv7 from one counter, so the ids of one process never go back, whatever the clock does, and
/// order is decided by ids, not by time. With a seed, each kind of id has a counter of its own.
pub struct IdGenerator {
    counter: Mutex<ContextV7>,
    random: Arc<RandomSource>,
}

impl Default for IdGenerator {
    fn default() -> Self {
        Self::new(Arc::default())
    }
}

impl IdGenerator {
    /// Creates a generator that draws from `random`.
    pub fn new(random: Arc<RandomSource>) -> Self {
        Self { counter: Mutex::new(ContextV7::new()), random }
    }

    /// Returns a new id for a record without a token.
    pub fn next(&self) -> Uuid {
        self.next_uuid("id")
    }

    /// Returns a new token.
    pub fn token<K: TokenKind>(&self) -> Token<K> {
        Token::new(self.next_uuid(K::PREFIX))
    }

    /// Returns the token of a record that follows from its subject, due at this time: the same in every process, and each time.
    pub fn token_of<K: TokenKind>(due: Timestamp, subject: &str) -> Token<K> {
        let hash = Sha256::digest(format!("{}{subject}", K::PREFIX));
        let unique = hash.first_chunk().expect("a hash of 32 bytes has ten");
        Token::new(uuid::Builder::from_unix_timestamp_millis(due.millis().unsigned_abs(), unique).into_uuid())
    }

    fn next_uuid(&self, kind: &'static str) -> Uuid {
        self.random.ordered_id(kind, FixedClock::SEEDED.now().millis()).unwrap_or_else(|| {
            let (counter, now) = (lock(&self.counter), SystemClock.now().millis().unsigned_abs());
            let nanos = u32::try_from(now % 1000).unwrap_or_default() * 1_000_000;
            Uuid::new_v7(uuid::Timestamp::from_unix(&*counter, now / 1000, nanos))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_continue_when_the_clock_is_set_back() {
        let ids = IdGenerator::default();
        let now = SystemClock.now().millis().unsigned_abs() / 1000;
        // Ids made when the clock was an hour and a day ahead.
        for ahead in [3600, 86_400] {
            let context = lock(&ids.counter);
            let mut last = Uuid::new_v7(uuid::Timestamp::from_unix(&*context, now + ahead, 0));
            drop(context);
            for _ in 0..10_000 {
                let next = ids.next();
                assert!(next > last, "{next} after {last}");
                last = next;
            }
        }
    }
}
