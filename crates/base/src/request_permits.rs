//! The admission permits of a request in flight, task-local. They are returned when its last task has ended.

use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock};

use crate::mutex::lock;
use crate::permits::{Lane, Permit, PermitPool};

tokio::task_local! {
    static PERMITS: Arc<RequestPermits>;
}

#[derive(Default)]
struct RequestPermits {
    /// One of the permits for requests in progress.
    request: Mutex<Option<Permit>>,
    /// One of the permits for detached requests.
    detached: OnceLock<Permit>,
    /// The pool of those, once the request is admitted.
    detached_pool: OnceLock<Arc<PermitPool>>,
    long_answer: Mutex<Option<LongAnswer>>,
}

/// The permits of a request whose answer may be long.
#[derive(Debug)]
pub struct LongAnswer {
    /// The permit to build its answer, of those built at once.
    pub building: Permit,
    /// Its memory, one permit per kibibyte.
    pub memory: Permit,
}

/// Runs a request, which has no permit yet.
pub(super) fn scope<F: Future>(work: F) -> impl Future<Output = F::Output> {
    PERMITS.scope(Arc::default(), work)
}

/// Keeps the current request's permits until `work`, in a task of its own, has ended.
pub(super) fn keep<F: Future>(work: F) -> impl Future<Output = F::Output> {
    PERMITS.scope(PERMITS.try_with(Arc::clone).unwrap_or_default(), work)
}

/// Gives the request its permit, which it keeps until it is done or releases it. A request that is detached from its
/// connection needs one of `detached` as well.
pub fn set_permit(permit: Permit, detached: &Arc<PermitPool>) {
    let _ = PERMITS.try_with(|permits| {
        *lock(&permits.request) = Some(permit);
        permits.detached_pool.get_or_init(|| Arc::clone(detached));
    });
}

/// Detaches the request from its connection, so that it runs to its end even if its client hangs up. Returns false if too
/// many of the lane are detached already. The request is counted until its last task has ended; work outside a request (a
/// worker's) is not counted.
pub fn acquire_detached_permit(lane: Lane) -> bool {
    let is_detached = PERMITS.try_with(|permits| {
        let (None, Some(pool)) = (permits.detached.get(), permits.detached_pool.get()) else {
            return true;
        };
        pool.try_acquire(lane, 1).is_some_and(|permit| permits.detached.set(permit).is_ok())
    });
    is_detached.unwrap_or(true)
}

/// Releases the request's permit before a long wait.
pub fn release_permit() {
    let _ = PERMITS.try_with(|permits| lock(&permits.request).take());
}

/// Keeps the permits for the long answer of the request.
pub fn hold_long_answer(held: LongAnswer) {
    let _ = PERMITS.try_with(|permits| *lock(&permits.long_answer) = Some(held));
}

/// Takes the permits that [`hold_long_answer`] has kept.
pub fn take_long_answer() -> Option<LongAnswer> {
    PERMITS.try_with(|permits| lock(&permits.long_answer).take()).ok().flatten()
}
