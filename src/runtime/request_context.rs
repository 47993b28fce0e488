//! The task-local state of a request in flight: its id, its account, and where its time goes. The log and the
//! `Server-Timing` header show it (`docs/decisions.md`, 13), and so does an account's request log in the test environment.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use entity::{AccountToken, Timestamp};
use serde_json::Value;

use crate::runtime::permits::{Permit, PermitPool};
use crate::trace;

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
    // The client's address.
    address: Option<IpAddr>,
    route: OnceLock<String>,
    account: OnceLock<AccountToken>,
    // One of the permits for requests in progress.
    permit: Mutex<Option<Permit>>,
    // One of the permits for detached requests, and their pool if there is one.
    detached_permit: OnceLock<Permit>,
    detached_permits: OnceLock<Arc<PermitPool>>,
    long_answer: Mutex<Option<LongAnswer>>,
    shed: AtomicBool,
    // Bytes of an upload.
    upload_bytes: AtomicU64,
    // Microseconds.
    database: AtomicU64,
    acquirer: AtomicU64,
    // Present if there is a request log.
    log_data: Option<Mutex<RequestLogData>>,
}

/// The permits of a request whose answer may be long.
#[derive(Debug)]
pub struct LongAnswer {
    /// The permit to build its answer, of those built at once.
    pub turn: Permit,
    /// Its memory, one permit per kibibyte.
    pub room: Permit,
}

/// The data of an entry of the request log.
#[derive(Default)]
pub struct RequestLogData {
    /// The account that the key authenticated, and the time of its clock.
    pub by: Option<(AccountToken, Timestamp)>,
    /// The parameters.
    pub parameters: Option<Arc<Value>>,
    /// The values of the parameters that were read.
    pub read: ReadValues,
    /// The body of the answer, if it is an error.
    pub error: Option<Vec<u8>>,
}

/// The values in a tree of parameters that a type has read, by their addresses, which are stable as long as the tree exists.
#[derive(Default)]
pub struct ReadValues {
    /// Values read as types that may be shown.
    pub open: Vec<usize>,
    /// Values read as a secret, or as a part of one.
    pub withheld: Vec<usize>,
}

/// Prints no content: it is what the client sent, including secrets.
impl fmt::Debug for RequestLogData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asked(***)")
    }
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
    /// Creates the context of a new request; with `logs`, an account's request log records it.
    pub fn new(id: String, logs: bool) -> Self {
        Self { id, log_data: logs.then(Mutex::default), ..Self::default() }
    }

    /// Takes the data for the request log, if there is one.
    pub fn take_log_data(&self) -> Option<RequestLogData> {
        self.log_data.as_ref().map(|asked| std::mem::take(&mut *lock(asked)))
    }

    /// Sets the client's address.
    #[must_use]
    pub fn with_address(self, address: IpAddr) -> Self {
        Self { address: Some(address), ..self }
    }

    /// Returns the template of the path, once the router knows it.
    pub fn route(&self) -> &str {
        self.route.get().map_or("unmatched", String::as_str)
    }

    /// Returns the account that the request acts for, once its secret key is known.
    pub fn account(&self) -> Option<AccountToken> {
        self.account.get().copied()
    }

    fn permit(&self) -> MutexGuard<'_, Option<Permit>> {
        lock(&self.permit)
    }

    fn of(&self, wait: Wait) -> &AtomicU64 {
        match wait {
            Wait::Database => &self.database,
            Wait::Acquirer => &self.acquirer,
        }
    }

    /// Returns whether the request waited for `wait`.
    pub fn waited(&self, wait: Wait) -> bool {
        self.of(wait).load(Ordering::Relaxed) > 0
    }

    /// Returns the milliseconds that the request waited for `wait`.
    pub fn millis(&self, wait: Wait) -> u64 {
        self.of(wait).load(Ordering::Relaxed).div_ceil(1000)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a request within its context.
pub async fn scope<F: Future>(request: Arc<RequestContext>, work: F) -> F::Output {
    REQUEST_CONTEXT.scope(request, work).await
}

/// Returns the client's address; `None` outside a request.
pub fn address() -> Option<IpAddr> {
    REQUEST_CONTEXT.try_with(|request| request.address).ok().flatten()
}

/// Detaches work that a request began, for a task of its own: its time still counts for the request, and its trace goes on.
pub fn detach<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let request = REQUEST_CONTEXT.try_with(Arc::clone).unwrap_or_default();
    DETACHED.scope((), REQUEST_CONTEXT.scope(request, trace::within(trace::current(), work)))
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
    let _ = REQUEST_CONTEXT.try_with(|request| request.of(wait).fetch_add(micros, Ordering::Relaxed));
    output
}

/// Gives the request its permit, which it keeps until it is done or releases it. A request that is detached from its
/// connection needs one of `berths` as well.
pub fn set_permit(place: Permit, berths: &Arc<PermitPool>) {
    let _ = REQUEST_CONTEXT.try_with(|request| {
        *request.permit() = Some(place);
        request.detached_permits.get_or_init(|| Arc::clone(berths));
    });
}

/// Detaches the request from its connection, so that it runs to its end even if its client hangs up. Returns false if too
/// many are detached already. The request is counted until its last task has ended; work outside a request (a worker's) is
/// not counted.
pub fn acquire_detached_permit() -> bool {
    let berthed = REQUEST_CONTEXT.try_with(|request| {
        let (None, Some(berths)) = (request.detached_permit.get(), request.detached_permits.get()) else {
            return true;
        };
        let berth = berths.try_acquire(request.account(), 1);
        berth.is_some_and(|berth| request.detached_permit.set(berth).is_ok())
    });
    berthed.unwrap_or(true)
}

/// Releases the request's permit before a long wait.
pub fn release_permit() {
    let _ = REQUEST_CONTEXT.try_with(|request| request.permit().take());
}

/// Keeps the permits for the long answer of the request.
pub fn hold_long_answer(held: LongAnswer) {
    let _ = REQUEST_CONTEXT.try_with(|request| *lock(&request.long_answer) = Some(held));
}

/// Takes the permits that [`hold_long_answer`] has kept.
pub fn take_long_answer() -> Option<LongAnswer> {
    REQUEST_CONTEXT.try_with(|request| lock(&request.long_answer).take()).ok().flatten()
}

/// Marks the request as one whose answer found no room: nothing of it is logged, and its connection ends.
pub fn mark_shed() {
    let _ = REQUEST_CONTEXT.try_with(|request| request.shed.store(true, Ordering::Relaxed));
}

/// Returns whether the answer of the request found no room.
pub fn is_shed() -> bool {
    REQUEST_CONTEXT.try_with(|request| request.shed.load(Ordering::Relaxed)).unwrap_or_default()
}

/// Returns the account whose secret key the request carries, once that is known.
pub fn account() -> Option<AccountToken> {
    REQUEST_CONTEXT.try_with(|request| request.account()).ok().flatten()
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

/// Returns the id of the request.
pub fn request_id() -> String {
    REQUEST_CONTEXT.try_with(|request| request.id.clone()).unwrap_or_default()
}

/// Records the template of the path, which the router has found.
pub fn set_route(route: &str) {
    let _ = REQUEST_CONTEXT.try_with(|request| request.route.set(route.to_owned()));
}

/// Records the account that a secret key has authenticated.
pub fn set_account(account: AccountToken) {
    let _ = REQUEST_CONTEXT.try_with(|request| request.account.set(account));
}

/// For the request log: records the account that a key has authenticated, and the time of its clock.
pub fn log_account(account: AccountToken, now: Timestamp) {
    log(|asked| asked.by = Some((account, now)));
}

/// For the request log: records the parameters.
pub fn log_parameters(parameters: &Arc<Value>) {
    log(|asked| asked.parameters = Some(Arc::clone(parameters)));
}

/// For the request log: records the values that a type has read.
pub fn log_read_values(read: ReadValues) {
    log(|asked| {
        asked.read.open.extend(read.open);
        asked.read.withheld.extend(read.withheld);
    });
}

/// For the request log: records the answer so far.
pub fn log_response(status: u16, body: &[u8]) {
    log(|asked| asked.error = (status >= 400).then(|| body.to_vec()));
}

fn log(note: impl FnOnce(&mut RequestLogData)) {
    let _ = REQUEST_CONTEXT.try_with(|request| request.log_data.as_ref().map(|asked| note(&mut lock(asked))));
}
