//! How much the server takes on at once. What is too much is told so at once (503 `service_unavailable`, decisions 3),
//! before it costs memory, and what was let in keeps its pace. What there is of each kind is shared among accounts.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use entity::AccountToken;
use http_body_util::BodyExt;
use moka::future::Cache;

use super::answer::without_log;
use super::connections::Connections;
use super::metrics::{Shed, count_shed};
use super::{AppState, auth};
use crate::error::ErrorCode;
use crate::limits::{
    ANSWERS_BYTES_MAX, CONNECTIONS_A_PLACE, GATE_WAIT, LANE_IDLE, LANES_MAX, LONG_ANSWER_WAIT,
    PLACES_A_LARGE_BODY, PROCESSORS_A_LONG_ANSWER, QUEUE_A_PLACE, RECORD_BYTES, SMALL_ANSWER_BYTES,
    TASKS_A_PLACE,
};
use crate::runtime::permits::{Lane, Permit, PermitPool, Share};
use crate::runtime::request_context::{self, LongAnswer};

/// The places there are.
///
/// A request takes one before anything is read of it but its head, and keeps it until it is answered, unless it begins
/// to wait for somebody who is neither the database nor the processor ([`request_context::release_permit`]): then it is others'.
/// After its own body it takes one again ([`AdmissionControl::enter`]); what it does after anybody else is paced by those it waited
/// for. So places bound what waits for the database (its pool, and
/// SQLite's writer), and connections all the rest. What goes on though its caller hangs up has places of its own, so that
/// a silent acquirer takes no more than those. What may be large in memory has, too: bodies, uploads and answers.
///
/// A long list keeps a processor and the database busy for as long as a hundred small requests. So few are made at once,
/// account by account, and each has its room in memory before it is begun.
pub struct AdmissionControl {
    requests: Arc<PermitPool>,
    tasks: Arc<PermitPool>,
    large_bodies: Arc<PermitPool>,
    uploads: Arc<PermitPool>,
    long_answers: Arc<PermitPool>,
    // A permit a kibibyte.
    answers: Arc<PermitPool>,
    connections: Arc<Connections>,
    lanes: Lanes,
}

impl AdmissionControl {
    /// As many requests at once, and what goes with them.
    pub fn new(requests: u16) -> Self {
        let requests = usize::from(requests);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = |all| PermitPool::new(all, Share { waiting: all * QUEUE_A_PLACE, leaves_half: false });
        // As many as have room in memory may wait for their turn.
        let queued = Share { waiting: usize::MAX, leaves_half: false };
        Self {
            requests: pool(requests),
            tasks: pool(requests * TASKS_A_PLACE),
            large_bodies: pool(requests.div_ceil(PLACES_A_LARGE_BODY)),
            uploads: pool(requests),
            long_answers: PermitPool::new((processors / PROCESSORS_A_LONG_ANSWER).max(1), queued),
            answers: PermitPool::new(ANSWERS_BYTES_MAX / KIB, Share { waiting: 0, leaves_half: true }),
            connections: Connections::new(requests * CONNECTIONS_A_PLACE),
            lanes: Lanes::new(),
        }
    }

    /// Of requests that are worked on.
    pub fn requests(&self) -> &Arc<PermitPool> {
        &self.requests
    }

    /// Of what goes on though its caller hangs up.
    pub fn tasks(&self) -> &Arc<PermitPool> {
        &self.tasks
    }

    /// Let the request under way begin, or go on, with a place.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn enter(&self, lane: Lane) -> Result<(), ErrorCode> {
        let place = acquire_or_shed(&self.requests, lane, Shed::Request).await?;
        request_context::set_permit(place, &self.tasks);
        Ok(())
    }

    /// Of connections.
    pub fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    /// Hold a body in memory that is larger than most.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn large_body(&self) -> Result<Permit, ErrorCode> {
        acquire_or_shed(&self.large_bodies, request_context::account(), Shed::LargeBody).await
    }

    /// Receive a file.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn upload(&self) -> Result<Permit, ErrorCode> {
        acquire_or_shed(&self.uploads, request_context::account(), Shed::Upload).await
    }

    /// Of answers that are made or being sent, one a kibibyte.
    pub fn answers(&self) -> &Arc<PermitPool> {
        &self.answers
    }

    /// Takes what an answer with so many records needs, before anything is read for it: room in memory, and a turn to be
    /// made. The request holds no place while it waits for its turn.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn long_answer(&self, records: u64) -> Result<(), ErrorCode> {
        let bytes = usize::try_from(records).unwrap_or(usize::MAX).saturating_mul(RECORD_BYTES);
        if bytes <= SMALL_ANSWER_BYTES {
            return Ok(());
        }
        let lane = request_context::account();
        // Not waited for: it is others who have to read, and whoever waits keeps his own place.
        let room = self.answers.try_acquire(lane, kibibytes(bytes)).ok_or_else(shed_answer)?;
        request_context::release_permit();
        let turn = self.long_answers.acquire(lane, LONG_ANSWER_WAIT).await.ok_or_else(shed_answer)?;
        self.enter(lane).await?;
        request_context::hold_long_answer(LongAnswer { turn, room });
        Ok(())
    }

    /// The room of an answer that is made, as large as it has become.
    ///
    /// Refusals: `service_unavailable`.
    fn room(&self, taken: Option<Permit>, bytes: usize) -> Result<Permit, ErrorCode> {
        let needed = kibibytes(bytes);
        let Some(mut room) = taken else {
            return self.answers.try_acquire(request_context::account(), needed).ok_or_else(shed_answer);
        };
        if room.resize(needed) { Ok(room) } else { Err(shed_answer()) }
    }
}

const KIB: usize = 1024;

fn kibibytes(bytes: usize) -> usize {
    // The largest answer there is has room where nothing else is held.
    bytes.div_ceil(KIB).min(ANSWERS_BYTES_MAX / KIB / 2)
}

fn shed_answer() -> ErrorCode {
    count_shed(Shed::Answer);
    request_context::mark_shed();
    ErrorCode::ServiceUnavailable
}

/// A place, if one is free soon: a burst is no overload, unless others wait already.
///
/// Refusals: `service_unavailable`.
async fn acquire_or_shed(pool: &Arc<PermitPool>, lane: Lane, what: Shed) -> Result<Permit, ErrorCode> {
    pool.acquire(lane, GATE_WAIT).await.ok_or_else(|| {
        count_shed(what);
        ErrorCode::ServiceUnavailable
    })
}

/// The accounts of keys that have been seen to open one. A key that is not remembered shares its lane with all such keys.
struct Lanes {
    hasher: RandomState,
    accounts: Cache<u64, AccountToken>,
}

impl Lanes {
    fn new() -> Self {
        let accounts = Cache::builder().max_capacity(LANES_MAX).time_to_idle(LANE_IDLE).build();
        Self { hasher: RandomState::new(), accounts }
    }

    /// What a key is remembered by: no more than a fingerprint of it is kept.
    fn fingerprint(&self, headers: &HeaderMap) -> Option<u64> {
        auth::basic_user(headers).map(|key| self.hasher.hash_one(key.expose()))
    }
}

/// Around the routes: let in whoever has a place, and keep of what goes out no more than there is room for.
pub async fn admit(State(site): State<AppState>, request: Request, next: Next) -> Response {
    // Nothing went wrong where there is none, and there may be thousands of them.
    let refused = |refused: ErrorCode| without_log(&refused.into());
    let lanes = &site.gate.lanes;
    let key = lanes.fingerprint(request.headers());
    let known = match key {
        Some(key) => lanes.accounts.get(&key).await,
        None => None,
    };
    if let Err(code) = site.gate.enter(known).await {
        return refused(code);
    }
    // A document is the same bytes for all of its readers, and HEAD has none.
    let keeps = request.method() == Method::GET && request.uri().path().starts_with("/1/");
    let mut response = next.run(request).await;
    if let (Some(key), None, Some(account)) = (key, known, request_context::account()) {
        lanes.accounts.insert(key, account).await;
    }
    let taken = request_context::take_long_answer().map(|held| held.room);
    let bytes = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    match bytes {
        // What has changed something is said in any case, and never in as many words as a list.
        Some(bytes) if bytes > SMALL_ANSWER_BYTES && keeps => match site.gate.room(taken, bytes) {
            Ok(room) => response = with_permit(response, room).await,
            Err(code) => response = refused(code),
        },
        _ => {}
    }
    if request_context::is_shed() {
        // What it has asked for beside would be refused as well.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// An answer that gives its room back when the last of it is sent.
async fn with_permit(response: Response, room: Permit) -> Response {
    let (head, body) = response.into_parts();
    // It is in memory already.
    let bytes = body.collect().await.map(|body| PermitBody { bytes: body.to_bytes(), _room: room });
    Response::from_parts(head, bytes.map_or_else(|_| Body::empty(), |bytes| Bytes::from_owner(bytes).into()))
}

struct PermitBody {
    bytes: Bytes,
    _room: Permit,
}

impl AsRef<[u8]> for PermitBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
