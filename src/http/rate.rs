//! How often an account may ask (decisions 3, `rate_limited`): a token bucket for each, in this process alone.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use entity::AccountToken;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use moka::future::Cache;

use super::metrics::count_rate_limited;
use crate::clock::Clock;
use crate::error::{Error, ErrorCode};
use crate::limits::{RATE_BUCKET_IDLE, RATE_BUCKETS_MAX, RATE_BURST_SECONDS};

/// The limit, if the operator has set one.
pub struct Rate(Option<Limited>);

struct Limited {
    quota: Quota,
    clock: Elapsed,
    buckets: Cache<AccountToken, Arc<Bucket>>,
}

type Bucket = RateLimiter<NotKeyed, InMemoryState, Elapsed, NoOpMiddleware<Duration>>;

/// Real time, which no setting of the machine's clock moves: set back, it would refuse everybody until it is made up.
#[derive(Clone)]
struct Elapsed(Arc<dyn Clock>);

impl governor::clock::Clock for Elapsed {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

impl Rate {
    /// So many requests a second, and those of two seconds at once where nothing was asked before; none is no limit.
    pub fn new(per_second: Option<NonZeroU32>, clock: Arc<dyn Clock>) -> Self {
        let limited = |per_second: NonZeroU32| Limited {
            quota: Quota::per_second(per_second).allow_burst(per_second.saturating_mul(RATE_BURST_SECONDS)),
            clock: Elapsed(clock),
            buckets: Cache::builder().max_capacity(RATE_BUCKETS_MAX).time_to_idle(RATE_BUCKET_IDLE).build(),
        };
        Self(per_second.map(limited))
    }

    /// Count a request of the account.
    ///
    /// Refusals: `rate_limited`.
    pub async fn count(&self, account: AccountToken) -> Result<(), Error> {
        let Some(limited) = &self.0 else { return Ok(()) };
        let bucket = limited.buckets.get_with(account, async { Arc::new(limited.bucket()) }).await;
        bucket.check().map_err(|_| {
            count_rate_limited();
            ErrorCode::RateLimited.into()
        })
    }
}

impl Limited {
    fn bucket(&self) -> Bucket {
        RateLimiter::direct_with_clock(self.quota, self.clock.clone())
    }
}
