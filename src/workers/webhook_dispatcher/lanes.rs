//! The pace of deliveries: how many webhooks of an endpoint are in flight and waiting, and the permits that all endpoints share.

use std::collections::VecDeque;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::limits::{
    DELIVERIES_MAX, DELIVERIES_UNPROVEN_MAX, ENDPOINT_MEMORY_LIFETIME, WEBHOOKS_IN_FLIGHT_MAX,
    WEBHOOKS_WAITING_MAX,
};
use crate::services::webhooks::LeasedWebhook;

/// The permits for deliveries of all endpoints together.
pub struct DeliveryPermits {
    all: Semaphore,
    /// Permits for endpoints that are not known to answer. However many of them hang, others have permits left.
    unproven: Semaphore,
}

impl Default for DeliveryPermits {
    fn default() -> Self {
        Self { all: Semaphore::new(DELIVERIES_MAX), unproven: Semaphore::new(DELIVERIES_UNPROVEN_MAX) }
    }
}

impl DeliveryPermits {
    /// Returns how many more deliveries may begin.
    pub fn remaining(&self) -> usize {
        self.all.available_permits()
    }

    /// Acquires the permits for one delivery.
    pub async fn take(&self, proven: bool) -> (Option<SemaphorePermit<'_>>, SemaphorePermit<'_>) {
        let unproven = async || self.unproven.acquire().await.expect("it is never closed");
        let unproven = if proven { None } else { Some(unproven().await) };
        (unproven, self.all.acquire().await.expect("it is never closed"))
    }
}

/// The result of the last delivery.
#[derive(Clone, Copy)]
pub struct Last {
    pub accepted: bool,
    pub at: Instant,
}

#[derive(Default)]
pub struct EndpointLane {
    pub in_flight: usize,
    pub waiting: VecDeque<LeasedWebhook>,
    pub last: Option<Last>,
    /// Whether more of its webhooks are due than there was room for.
    pub more: bool,
}

impl EndpointLane {
    fn fails(&self) -> bool {
        self.last.is_some_and(|last| !last.accepted)
    }

    /// Returns whether the last delivery was accepted.
    pub fn is_proven(&self) -> bool {
        self.last.is_some_and(|last| last.accepted)
    }

    /// Returns the number of deliveries allowed in flight: one for an endpoint that fails, until it accepts one.
    pub fn in_flight_max(&self) -> usize {
        if self.fails() { 1 } else { WEBHOOKS_IN_FLIGHT_MAX }
    }

    /// Returns whether the lane must be kept. The lane of a deleted endpoint, which gets no more deliveries, expires.
    pub fn is_needed(&self, now: Instant) -> bool {
        self.in_flight > 0 || self.last.is_some_and(|last| now < last.at + ENDPOINT_MEMORY_LIFETIME)
    }

    /// Returns how many more webhooks the endpoint takes. While it fails, few wait in memory.
    pub fn room(&self) -> usize {
        let waiting_max = if self.fails() { WEBHOOKS_IN_FLIGHT_MAX } else { WEBHOOKS_WAITING_MAX };
        (self.in_flight_max() + waiting_max).saturating_sub(self.in_flight + self.waiting.len())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;

    use super::*;

    #[test]
    fn an_endpoint_is_forgotten_once_nothing_was_sent_to_it_for_long() {
        let at = Instant::now();
        for accepted in [true, false] {
            let idle = EndpointLane { last: Some(Last { accepted, at }), ..EndpointLane::default() };
            assert!(idle.is_needed(at));
            assert!(idle.is_needed(at + ENDPOINT_MEMORY_LIFETIME - Duration::from_millis(1)));
            assert!(!idle.is_needed(at + ENDPOINT_MEMORY_LIFETIME));
            let busy = EndpointLane { in_flight: 1, ..idle };
            assert!(busy.is_needed(at + ENDPOINT_MEMORY_LIFETIME * 2));
        }
        assert!(!EndpointLane::default().is_needed(at));
    }

    // Without a runtime: its tasks yield after so many polls, whether there are more permits or not.
    #[test]
    fn however_many_endpoints_hang_one_that_answers_has_its_turn() {
        let permits = DeliveryPermits::default();
        let mut hanging: Vec<_> = std::iter::from_fn(|| permits.take(false).now_or_never()).collect();
        assert_eq!(hanging.len(), DELIVERIES_UNPROVEN_MAX);
        let answering: Vec<_> = std::iter::from_fn(|| permits.take(true).now_or_never()).collect();
        assert_eq!(answering.len(), DELIVERIES_MAX - DELIVERIES_UNPROVEN_MAX);
        hanging.pop();
        assert!(permits.take(false).now_or_never().is_some());
    }
}
