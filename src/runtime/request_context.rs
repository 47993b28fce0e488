//! What is known of the request under way wherever it is worked on: its id, whose it is, and where its time
//! goes. That is what the log and the `Server-Timing` header show (decisions 1); and in the test environment what an
//! account's request log shows.

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
    /// There is one where a task goes on whether or not anybody waits for it.
    static DETACHED: ();
}

/// A request under way.
#[derive(Debug, Default)]
pub struct RequestContext {
    /// The caller's id if well-formed, else a new one.
    pub id: String,
    // Where it comes from.
    address: Option<IpAddr>,
    route: OnceLock<String>,
    account: OnceLock<AccountToken>,
    // Among the requests that are worked on.
    permit: Mutex<Option<Permit>>,
    // Among those that go on to their end, and where there are such places.
    detached_permit: OnceLock<Permit>,
    detached_permits: OnceLock<Arc<PermitPool>>,
    long_answer: Mutex<Option<LongAnswer>>,
    shed: AtomicBool,
    // Of an upload, bytes.
    upload_bytes: AtomicU64,
    // Microseconds.
    database: AtomicU64,
    acquirer: AtomicU64,
    // Where there is a request log.
    log_data: Option<Mutex<RequestLogData>>,
}

/// What a request holds whose answer may be long.
#[derive(Debug)]
pub struct LongAnswer {
    /// Its turn among those that are made at once.
    pub turn: Permit,
    /// Its room in memory, a permit a kibibyte.
    pub room: Permit,
}

/// What a request log is about.
#[derive(Default)]
pub struct RequestLogData {
    /// The account that a key has opened, and what its clock shows.
    pub by: Option<(AccountToken, Timestamp)>,
    /// The parameters.
    pub parameters: Option<Arc<Value>>,
    /// What of these was read.
    pub read: ReadValues,
    /// The body of the answer, if that is an error.
    pub error: Option<Vec<u8>>,
}

/// Which values of a tree of parameters were read by a type, by where they lie: they stay there as long as the tree does.
#[derive(Default)]
pub struct ReadValues {
    /// As what may be shown.
    pub open: Vec<usize>,
    /// As a secret, or a part of one.
    pub withheld: Vec<usize>,
}

/// It holds what a request has sent, secrets among it.
impl fmt::Debug for RequestLogData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asked(***)")
    }
}

/// Who is waited for.
#[derive(Debug, Clone, Copy)]
pub enum Wait {
    /// The database.
    Database,
    /// The acquirer.
    Acquirer,
}

impl RequestContext {
    /// A request that has just begun; where `logs`, an account's request log will be about it.
    pub fn new(id: String, logs: bool) -> Self {
        Self { id, log_data: logs.then(Mutex::default), ..Self::default() }
    }

    /// What the request log is about, if there is any.
    pub fn take_log_data(&self) -> Option<RequestLogData> {
        self.log_data.as_ref().map(|asked| std::mem::take(&mut *lock(asked)))
    }

    /// And that comes from an address.
    #[must_use]
    pub fn with_address(self, address: IpAddr) -> Self {
        Self { address: Some(address), ..self }
    }

    /// The template of its path, once the router knows it.
    pub fn route(&self) -> &str {
        self.route.get().map_or("unmatched", String::as_str)
    }

    /// The account it acts for, once its secret key is known.
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

    /// Whether anybody waited for `wait`.
    pub fn waited(&self, wait: Wait) -> bool {
        self.of(wait).load(Ordering::Relaxed) > 0
    }

    /// Milliseconds waited for `wait`.
    pub fn millis(&self, wait: Wait) -> u64 {
        self.of(wait).load(Ordering::Relaxed).div_ceil(1000)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Run a request with its time kept.
pub async fn scope<F: Future>(request: Arc<RequestContext>, work: F) -> F::Output {
    REQUEST_CONTEXT.scope(request, work).await
}

/// Where the request under way comes from; none where there is no request.
pub fn address() -> Option<IpAddr> {
    REQUEST_CONTEXT.try_with(|request| request.address).ok().flatten()
}

/// Run on, in a task of its own, work that a request began: its time still counts for the request, and its trace goes on.
pub fn detach<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let request = REQUEST_CONTEXT.try_with(Arc::clone).unwrap_or_default();
    DETACHED.scope((), REQUEST_CONTEXT.scope(request, trace::within(trace::current(), work)))
}

/// Whether this is work that goes on whether or not anybody waits for it.
pub fn is_detached() -> bool {
    DETACHED.try_with(|()| ()).is_ok()
}

/// Count the time of one wait.
pub async fn waiting<F: Future>(wait: Wait, work: F) -> F::Output {
    match wait {
        Wait::Database => {}
        Wait::Acquirer => release_permit(),
    }
    let began = Instant::now();
    let output = work.await;
    // At least one: a wait that was too short to measure was a wait.
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
    // Work of no request (a worker's) has nobody to tell.
    let _ = REQUEST_CONTEXT.try_with(|request| request.of(wait).fetch_add(micros, Ordering::Relaxed));
    output
}

/// The request has taken a place, and keeps it until it is done or gives way. If it is to go on to its end whatever its
/// caller does, it needs one of `berths` beside.
pub fn set_permit(place: Permit, berths: &Arc<PermitPool>) {
    let _ = REQUEST_CONTEXT.try_with(|request| {
        *request.permit() = Some(place);
        request.detached_permits.get_or_init(|| Arc::clone(berths));
    });
}

/// From now on the request goes on to its end, though its caller hang up: false where too many do already. It is counted
/// until its last task has ended. Work of no request (a worker's) is not.
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

/// The request waits for somebody else from now on, for however long: its place is others'.
pub fn release_permit() {
    let _ = REQUEST_CONTEXT.try_with(|request| request.permit().take());
}

/// Keeps what the long answer of the request under way needs.
pub fn hold_long_answer(held: LongAnswer) {
    let _ = REQUEST_CONTEXT.try_with(|request| *lock(&request.long_answer) = Some(held));
}

/// Takes what [`hold_long_answer`] has kept.
pub fn take_long_answer() -> Option<LongAnswer> {
    REQUEST_CONTEXT.try_with(|request| lock(&request.long_answer).take()).ok().flatten()
}

/// Marks the request under way as one whose answer found no room: nothing of it is logged, and its connection ends.
pub fn mark_shed() {
    let _ = REQUEST_CONTEXT.try_with(|request| request.shed.store(true, Ordering::Relaxed));
}

/// Whether the answer of the request under way found no room.
pub fn is_shed() -> bool {
    REQUEST_CONTEXT.try_with(|request| request.shed.load(Ordering::Relaxed)).unwrap_or_default()
}

/// The account whose secret key the request under way carries, once that is known.
pub fn account() -> Option<AccountToken> {
    REQUEST_CONTEXT.try_with(|request| request.account()).ok().flatten()
}

/// More of an upload has come.
pub fn add_upload_bytes(bytes: usize) {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    let _ = REQUEST_CONTEXT.try_with(|request| request.upload_bytes.fetch_add(bytes, Ordering::Relaxed));
}

/// How many bytes of an upload have come.
pub fn upload_bytes() -> u64 {
    REQUEST_CONTEXT.try_with(|request| request.upload_bytes.load(Ordering::Relaxed)).unwrap_or_default()
}

/// The id of the request under way.
pub fn request_id() -> String {
    REQUEST_CONTEXT.try_with(|request| request.id.clone()).unwrap_or_default()
}

/// The router has found the path's template.
pub fn set_route(route: &str) {
    let _ = REQUEST_CONTEXT.try_with(|request| request.route.set(route.to_owned()));
}

/// A secret key has opened this account.
pub fn set_account(account: AccountToken) {
    let _ = REQUEST_CONTEXT.try_with(|request| request.account.set(account));
}

/// For the request log: a key has opened this account, whose clock shows this.
pub fn log_account(account: AccountToken, now: Timestamp) {
    log(|asked| asked.by = Some((account, now)));
}

/// For the request log: the request carries these parameters.
pub fn log_parameters(parameters: &Arc<Value>) {
    log(|asked| asked.parameters = Some(Arc::clone(parameters)));
}

/// For the request log: a type has read these of them.
pub fn log_read_values(read: ReadValues) {
    log(|asked| {
        asked.read.open.extend(read.open);
        asked.read.withheld.extend(read.withheld);
    });
}

/// For the request log: this is the answer so far.
pub fn log_response(status: u16, body: &[u8]) {
    log(|asked| asked.error = (status >= 400).then(|| body.to_vec()));
}

fn log(note: impl FnOnce(&mut RequestLogData)) {
    let _ = REQUEST_CONTEXT.try_with(|request| request.log_data.as_ref().map(|asked| note(&mut lock(asked))));
}
