//! Time and chance as parameters: tests move the one and count on the other.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use entity::token::TokenKind;
use entity::{Timestamp, Token};
use uuid::{ContextV7, Uuid};

use crate::runtime::random::RandomSource;

/// The wall clock. An account's own clock is this plus the account's offset (decisions 13).
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Timestamp;

    /// Real time since some instant in the past, for pacing: it never goes back, whatever sets the clock.
    fn elapsed(&self) -> Duration;
}

/// The machine's clock.
pub struct SystemClock;

impl SystemClock {
    /// Nanoseconds since 1970, for traces: what happens within one request is told apart by them.
    #[expect(clippy::disallowed_methods, reason = "beside the one place that may read the machine's clock")]
    pub fn unix_nanos() -> u64 {
        let nanos = chrono::Utc::now().timestamp_nanos_opt();
        nanos.and_then(|nanos| u64::try_from(nanos).ok()).unwrap_or_default()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that may read the machine's clock")]
    fn now(&self) -> Timestamp {
        chrono::Utc::now().into()
    }

    fn elapsed(&self) -> Duration {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        BEGAN.elapsed()
    }
}

/// A wall clock that stands still: that of a server with a seed, on which time passes where an account's clock is moved
/// and nowhere else.
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

/// The one generator of ids. UUIDv7 from one counter, so ids of one process never go back, whatever the
/// clock does: ids decide order, not time. Where chance has a seed, each kind has a counter of its own.
pub struct IdGenerator {
    counter: Mutex<ContextV7>,
    chance: Arc<RandomSource>,
}

impl Default for IdGenerator {
    fn default() -> Self {
        Self::new(Arc::default())
    }
}

impl IdGenerator {
    /// Ids that are drawn from `chance`.
    pub fn new(chance: Arc<RandomSource>) -> Self {
        Self { counter: Mutex::new(ContextV7::new()), chance }
    }

    /// A fresh id of no record.
    pub fn next(&self) -> Uuid {
        self.of("id")
    }

    /// A fresh token.
    pub fn token<K: TokenKind>(&self) -> Token<K> {
        Token::new(self.of(K::PREFIX))
    }

    fn of(&self, kind: &'static str) -> Uuid {
        self.chance.ordered_id(kind, FixedClock::SEEDED.now().millis()).unwrap_or_else(|| {
            let counter = self.counter.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            Uuid::new_v7(uuid::Timestamp::now(&*counter))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_go_on_from_where_they_were_when_the_clock_is_set_back() {
        let ids = IdGenerator::default();
        let now = SystemClock.now().millis().unsigned_abs() / 1000;
        // As the clock would have it a day later, or an hour.
        for ahead in [3600, 86_400] {
            let context = ids.counter.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
