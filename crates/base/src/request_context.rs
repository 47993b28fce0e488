//! The task-local state of a request in flight: its id, its account, and where its time goes. The log and the
//! `Server-Timing` header show it (`docs/decisions.md`, 13).

use std::future::Future;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use entity::AccountToken;
use http::Method;

use crate::mutex::lock;
use crate::request_permits::{self, release_permit};

/// Stands for the template of a path that the router does not know.
pub const UNMATCHED: &str = "unmatched";

tokio::task_local! {
    static REQUEST_CONTEXT: Arc<RequestContext>;
    /// Set in a task that runs to its end whether or not a client waits for it.
    static DETACHED: ();
}

/// The state of a request in flight.
#[derive(Debug, Default)]
pub struct RequestContext {
    /// The id that the client sent, if it is well-formed, else a new one.
    pub id: String,
    // The client's address, if it is known.
    address: Option<IpAddr>,
    operation: OnceLock<(Method, String)>,
    account: OnceLock<AccountToken>,
    // As of the last counted request: a list as CSV is several.
    rate: Mutex<Option<RateStatus>>,
    outcome: Mutex<RequestOutcome>,
    shed: AtomicBool,
    not_begun: AtomicBool,
    // Whether the client wants unknown parameters refused, if it says so; and whether the account does.
    prefers_strict: Option<bool>,
    account_is_strict: AtomicBool,
    // Bytes of an upload.
    upload_bytes: AtomicU64,
    // Microseconds.
    database: AtomicU64,
    acquirer: AtomicU64,
}

/// The rest of an account's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateStatus {
    /// The number of requests that it may send within a time.
    pub requests: u32,
    /// That time, in seconds.
    pub seconds: u32,
    /// The number of them that are left.
    pub left: u32,
    /// The number of seconds after which all of them are available again.
    pub full_after: u32,
}

/// The data of an answer that the log shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestOutcome {
    /// The code of a refusal.
    pub error: Option<String>,
    /// The token of the record that the answer is about.
    pub record: Option<String>,
}

/// The party that a request waits for.
#[derive(Debug, Clone, Copy)]
pub enum Wait {
    /// The database.
    Database,
    /// The acquirer.
    Acquirer,
}

impl RequestContext {
    /// Creates the context of a new request.
    pub fn new(id: String) -> Self {
        Self { id, ..Self::default() }
    }

    /// Sets the client's address, if it is known.
    #[must_use]
    pub fn with_address(self, address: Option<IpAddr>) -> Self {
        Self { address, ..self }
    }

    /// Sets whether the client wants unknown parameters refused, if it says so.
    #[must_use]
    pub fn with_preference(self, prefers_strict: Option<bool>) -> Self {
        Self { prefers_strict, ..self }
    }

    /// Returns whether the client wants unknown parameters refused, if it says so.
    pub fn prefers_strict(&self) -> Option<bool> {
        self.prefers_strict
    }

    /// Returns the template of the path, once the router knows it.
    pub fn route(&self) -> &str {
        self.operation().map_or(UNMATCHED, |(_, route)| route)
    }

    /// Returns the method, and the template of the path, once the router knows them.
    pub fn operation(&self) -> Option<(&Method, &str)> {
        self.operation.get().map(|(method, route)| (method, route.as_str()))
    }

    /// Returns the account that the request acts for, once its secret key is known.
    pub fn account(&self) -> Option<AccountToken> {
        self.account.get().copied()
    }

    /// Returns what is left of the account's rate, if it has a limit.
    pub fn rate(&self) -> Option<RateStatus> {
        *lock(&self.rate)
    }

    /// Returns what the last answer says.
    pub fn outcome(&self) -> RequestOutcome {
        lock(&self.outcome).clone()
    }

    fn counter(&self, wait: Wait) -> &AtomicU64 {
        match wait {
            Wait::Database => &self.database,
            Wait::Acquirer => &self.acquirer,
        }
    }

    /// Returns whether the request waited at all; [`Self::millis`] rounds up.
    pub fn waited(&self, wait: Wait) -> bool {
        self.counter(wait).load(Ordering::Relaxed) > 0
    }

    /// Returns how long the request waited, in milliseconds, rounded up.
    pub fn millis(&self, wait: Wait) -> u64 {
        self.counter(wait).load(Ordering::Relaxed).div_ceil(1000)
    }
}

/// Runs a request within its context.
pub fn scope<F: Future>(request: Arc<RequestContext>, work: F) -> impl Future<Output = F::Output> {
    REQUEST_CONTEXT.scope(request, request_permits::scope(work))
}

/// Returns the context of the current request, for a part of it that runs after its response has begun.
pub fn current() -> Arc<RequestContext> {
    REQUEST_CONTEXT.try_with(Arc::clone).unwrap_or_default()
}

/// Returns whether this work is a request's. A task of its own that no request began has an empty context.
pub fn is_of_request() -> bool {
    REQUEST_CONTEXT.try_with(|request| !request.id.is_empty()).unwrap_or_default()
}

/// Returns the client's address; `None` if it is unknown, and outside a request.
pub fn address() -> Option<IpAddr> {
    REQUEST_CONTEXT.try_with(|request| request.address).ok().flatten()
}

/// Detaches work that a request began, for a task of its own: its time still counts for the request, and its permits are
/// kept until it ends.
pub fn detach<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let request = current();
    DETACHED.scope((), REQUEST_CONTEXT.scope(request, request_permits::keep(work)))
}

/// Returns whether this work runs to its end whether or not a client waits for it.
pub fn is_detached() -> bool {
    DETACHED.try_with(|()| ()).is_ok()
}

/// Counts the time of one wait.
pub async fn waiting<F: Future>(wait: Wait, work: F) -> F::Output {
    match wait {
        Wait::Database => {}
        Wait::Acquirer => release_permit(),
    }
    let began = Instant::now();
    let output = work.await;
    // At least one: a wait that was too short to measure was a wait.
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
    // Work outside a request (a worker's) has no context.
    let _ = REQUEST_CONTEXT.try_with(|request| request.counter(wait).fetch_add(micros, Ordering::Relaxed));
    output
}

/// Counts a wait that was over at once.
pub fn count_wait(wait: Wait) {
    let _ = REQUEST_CONTEXT.try_with(|request| request.counter(wait).fetch_add(1, Ordering::Relaxed));
}

/// Marks the request as one that is refused before it has begun, even before its Idempotency-Key was claimed: an earlier request with the
/// same key may have been answered.
pub fn mark_not_begun() {
    let _ = REQUEST_CONTEXT.try_with(|request| request.not_begun.store(true, Ordering::Relaxed));
}

/// Returns whether the request was refused before it had begun.
pub fn has_not_begun() -> bool {
    REQUEST_CONTEXT.try_with(|request| request.not_begun.load(Ordering::Relaxed)).unwrap_or_default()
}

/// Marks the request as one that is shed: its refusal is not logged, and its connection ends.
pub fn mark_shed() {
    let _ = REQUEST_CONTEXT.try_with(|request| request.shed.store(true, Ordering::Relaxed));
}

/// Returns whether the request was shed.
pub fn is_shed() -> bool {
    REQUEST_CONTEXT.try_with(|request| request.shed.load(Ordering::Relaxed)).unwrap_or_default()
}

/// Returns the account whose secret key the request carries, once that is known.
pub fn account() -> Option<AccountToken> {
    REQUEST_CONTEXT.try_with(|request| request.account()).ok().flatten()
}

/// Records whether the request's account wants unknown parameters refused.
pub fn set_account_is_strict(is_strict: bool) {
    let _ = REQUEST_CONTEXT.try_with(|request| request.account_is_strict.store(is_strict, Ordering::Relaxed));
}

/// Returns whether unknown parameters are refused: as the client prefers, or else as its account has it.
pub fn is_strict() -> bool {
    let strict = |request: &Arc<RequestContext>| {
        request.prefers_strict.unwrap_or_else(|| request.account_is_strict.load(Ordering::Relaxed))
    };
    REQUEST_CONTEXT.try_with(strict).unwrap_or_default()
}

/// Counts received bytes of an upload.
pub fn add_upload_bytes(bytes: usize) {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let _ = REQUEST_CONTEXT.try_with(|request| request.upload_bytes.fetch_add(bytes, Ordering::Relaxed));
}

/// Returns the number of received bytes of an upload.
pub fn upload_bytes() -> u64 {
    REQUEST_CONTEXT.try_with(|request| request.upload_bytes.load(Ordering::Relaxed)).unwrap_or_default()
}

/// Returns the X-Request-Id of the current request, or an empty text outside of one.
pub fn request_id() -> String {
    REQUEST_CONTEXT.try_with(|request| request.id.clone()).unwrap_or_default()
}

/// Records the operation that the router has found: method, and the template of the path.
pub fn set_operation(method: &Method, route: &str) {
    let _ = REQUEST_CONTEXT.try_with(|request| request.operation.set((method.clone(), route.to_owned())));
}

/// Records what is left of the rate of the request's account.
pub fn set_rate(rate: RateStatus) {
    let _ = REQUEST_CONTEXT.try_with(|request| *lock(&request.rate) = Some(rate));
}

/// Records what the answer says. A later answer replaces an earlier one.
pub fn set_outcome(outcome: RequestOutcome) {
    let _ = REQUEST_CONTEXT.try_with(|request| *lock(&request.outcome) = outcome);
}

/// Records the account that a secret key has authenticated.
pub fn set_account(account: AccountToken) {
    let _ = REQUEST_CONTEXT.try_with(|request| request.account.set(account));
}
