//! Permits for what keeps a processor, much memory or the database's writer busy for long: few at a time, and one of an account.

use std::sync::Arc;

use base::permits::{Permit, PermitPool, Share};
use base::request_context;
use base::request_permits::release_permit;
use entity::AccountToken;
use web::connections::unless_wanted;

use crate::error::{Error, ErrorCode};
use crate::limits::LONG_WORK_TIMEOUT;

/// The permits for one kind of long work.
pub struct LongWorkPermits {
    pool: Arc<PermitPool>,
}

impl LongWorkPermits {
    /// Creates permits for so much work at a time.
    pub fn new(at_once: usize) -> Self {
        // Connections limit those who wait. Who is refused comes again, and costs more than who waits.
        let share = Share { waiting: usize::MAX, leaves_half: false, of_a_lane: 1 };
        Self { pool: PermitPool::new(at_once, share) }
    }

    /// Returns the number of those who wait for a permit.
    pub fn waiting(&self) -> usize {
        self.pool.waiting()
    }

    /// Takes a permit for work of the account. A request that has to wait for one releases the permit by which it was admitted, so that
    /// others are served meanwhile, and gives way if its connection is wanted.
    ///
    /// Refusals: `service_unavailable` if it has waited for too long, or gives way.
    pub async fn acquire(&self, account: AccountToken) -> Result<Permit, Error> {
        let lane = Some(account);
        if let Some(permit) = self.pool.try_acquire(lane, 1) {
            return Ok(permit);
        }
        release_permit();
        let permit = unless_wanted(self.pool.acquire(lane, LONG_WORK_TIMEOUT)).await;
        permit.flatten().ok_or_else(|| {
            metrics::counter!("card_payments_shed_total", "what" => "long_work").increment(1);
            request_context::mark_shed();
            ErrorCode::ServiceUnavailable.into()
        })
    }
}
