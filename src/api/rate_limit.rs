//! Rate limiting of accounts (`docs/decisions.md`, 92): a token bucket for each, in this process only (93).

use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use base::client_network::ClientNetwork;
use base::clock::Clock;
use base::request_context::{self, RateStatus};
use entity::AccountToken;
use governor::middleware::StateInformationMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use moka::future::Cache;

use super::metrics::count_rate_limited;
use crate::error::{Error, ErrorCode};
use crate::limits::{RATE_BUCKET_IDLE, RATE_BUCKETS_MAX, RATE_BURST_SECONDS};

/// The rate limit, if the operator has set one.
pub struct RateLimit(Option<Buckets<RateLimitKey>>);

/// The key by which requests are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RateLimitKey {
    Account(AccountToken),
    /// An operator's network, if it is known, whichever account the operator views: the account itself sends no request.
    Operator(Option<ClientNetwork>),
}

/// The buckets of the keys seen lately.
pub struct Buckets<K> {
    quota: Quota,
    clock: MonotonicClock,
    of: Cache<K, Arc<Bucket>>,
}

type Bucket = RateLimiter<NotKeyed, InMemoryState, MonotonicClock, StateInformationMiddleware>;

/// A monotonic clock. If the machine's clock were set back, a limiter on it would refuse everyone until the clock had
/// caught up.
#[derive(Clone)]
struct MonotonicClock(Arc<dyn Clock>);

impl governor::clock::Clock for MonotonicClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

impl RateLimit {
    /// Allows this many requests a second, and after a pause those of two seconds at once. Without a rate there is no
    /// limit.
    pub fn new(per_second: Option<NonZeroU32>, clock: Arc<dyn Clock>) -> Self {
        Self(per_second.map(|per_second| {
            let burst = per_second.saturating_mul(RATE_BURST_SECONDS);
            Buckets::new(Quota::per_second(per_second).allow_burst(burst), clock)
        }))
    }

    /// Counts a request. An account learns what is left by the headers of its response.
    ///
    /// Refusals: `rate_limited`.
    pub async fn count(&self, who: RateLimitKey) -> Result<(), Error> {
        let Some(limited) = &self.0 else { return Ok(()) };
        let taken = limited.take(who).await.inspect_err(|_| count_rate_limited());
        if matches!(who, RateLimitKey::Account(_)) {
            request_context::set_rate(limited.status(*taken.as_ref().unwrap_or(&0)));
        }
        taken.map(drop).map_err(Error::from)
    }
}

impl<K: Hash + Eq + Send + Sync + 'static> Buckets<K> {
    /// Creates buckets with this quota, which must refill within [`RATE_BUCKET_IDLE`].
    pub fn new(quota: Quota, clock: Arc<dyn Clock>) -> Self {
        let of = Cache::builder().max_capacity(RATE_BUCKETS_MAX).time_to_idle(RATE_BUCKET_IDLE).build();
        Self { quota, clock: MonotonicClock(clock), of }
    }

    /// Takes a token from the bucket of `who`. Returns how many are left.
    ///
    /// Refusals: `rate_limited`.
    pub async fn take(&self, who: K) -> Result<u32, ErrorCode> {
        let fresh =
            || Arc::new(RateLimiter::direct_with_clock(self.quota, self.clock.clone()).with_middleware());
        let bucket = self.of.get_with(who, async { fresh() }).await;
        bucket.check().map(|taken| taken.remaining_burst_capacity()).map_err(|_| ErrorCode::RateLimited)
    }

    /// Describes a bucket with so many tokens.
    fn status(&self, left: u32) -> RateStatus {
        let requests = self.quota.burst_size().get();
        let seconds = |tokens: u32| {
            let time = self.quota.replenish_interval().saturating_mul(tokens);
            u32::try_from(time.as_millis().div_ceil(1000)).unwrap_or(u32::MAX)
        };
        RateStatus {
            requests,
            seconds: seconds(requests),
            left,
            full_after: seconds(requests.saturating_sub(left)),
        }
    }
}
