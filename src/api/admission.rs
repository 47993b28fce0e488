//! Admission control and load shedding. Requests over the limit get 503 `service_unavailable` before they cost memory
//! (`docs/decisions.md`, 95); admitted requests keep their pace. Accounts share each kind of permit.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use base::permits::{Lane, Permit, PermitPool, Share};
use base::request_context;
use base::request_permits::{self, LongAnswer, release_permit};
use base::secret::Secret;
use entity::AccountToken;
use moka::future::Cache;
use web::connections::Connections;
use web::server;

use super::metrics::{ShedKind, count_shed};
use crate::error::ErrorCode;
use crate::limits::{
    ADMISSION_TIMEOUT, ANSWERS_BYTES_MAX, CONNECTIONS_PER_PERMIT, LANE_IDLE, LANES_MAX, LONG_ANSWER_TIMEOUT,
    PERMITS_PER_LARGE_BODY, PROCESSORS_PER_LONG_ANSWER, QUEUE_PER_PERMIT, RECORD_BYTES, SMALL_ANSWER_BYTES,
    TASKS_PER_PERMIT,
};

/// Admission control of a server: pools of permits.
///
/// A request takes a permit after its head is read and holds it until it is answered. It releases the permit before it
/// waits for anything but the database or the processor ([`release_permit`]). After reading its own
/// body it takes one again ([`AdmissionControl::enter`]); after any other wait it does not, because that wait already
/// paces it. So permits bound the requests that wait for the database (its pool, and SQLite's writer), and the
/// connection limit bounds all others. Work that outlives its connection has its own permits, so that a silent acquirer
/// takes no more than those. So has everything that may be large in memory: bodies, uploads and responses.
///
/// A long list keeps a processor and the database busy for as long as a hundred small requests. So only a few are built
/// at once, account by account, and each reserves its memory before it starts.
pub struct AdmissionControl {
    requests: Arc<PermitPool>,
    tasks: Arc<PermitPool>,
    large_bodies: Arc<PermitPool>,
    uploads: Arc<PermitPool>,
    long_answers: Arc<PermitPool>,
    // One permit per kibibyte.
    answers: Arc<PermitPool>,
    connections: Arc<Connections>,
    lanes: Lanes,
}

impl AdmissionControl {
    /// Creates the pools for this many concurrent requests.
    pub fn new(requests: u16) -> Self {
        let requests = usize::from(requests);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let share = |waiting| Share { waiting, leaves_half: false, of_a_lane: usize::MAX };
        let pool = |all| PermitPool::new(all, share(all * QUEUE_PER_PERMIT));
        // What may last for as long as its caller likes: an account that takes all it can get leaves an eighth to the others.
        let long = |all: usize| {
            PermitPool::new(all, Share { of_a_lane: all - all / 8, ..share(all * QUEUE_PER_PERMIT) })
        };
        // Every list whose memory is reserved may wait for a processor.
        let queued = share(usize::MAX);
        Self {
            requests: pool(requests),
            tasks: long(requests * TASKS_PER_PERMIT),
            large_bodies: long(requests.div_ceil(PERMITS_PER_LARGE_BODY)),
            uploads: long(requests),
            long_answers: PermitPool::new((processors / PROCESSORS_PER_LONG_ANSWER).max(1), queued),
            answers: PermitPool::new(ANSWERS_BYTES_MAX / KIB, Share { leaves_half: true, ..share(0) }),
            connections: Connections::new(server::raise_file_limit(requests * CONNECTIONS_PER_PERMIT)),
            lanes: Lanes::new(),
        }
    }

    /// Returns the permits of requests in flight.
    pub fn requests(&self) -> &Arc<PermitPool> {
        &self.requests
    }

    /// Returns the permits of work that outlives its connection.
    pub fn tasks(&self) -> &Arc<PermitPool> {
        &self.tasks
    }

    /// Acquires a permit for the current request, before it starts or continues.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn enter(&self, lane: Lane) -> Result<(), ErrorCode> {
        let permit = acquire_or_shed(&self.requests, lane, ShedKind::Request).await?;
        request_permits::set_permit(permit, &self.tasks);
        Ok(())
    }

    pub fn connections(&self) -> &Arc<Connections> {
        &self.connections
    }

    /// Acquires a permit to hold a large body in memory.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn large_body(&self) -> Result<Permit, ErrorCode> {
        acquire_or_shed(&self.large_bodies, request_context::account(), ShedKind::LargeBody).await
    }

    /// Acquires a permit to receive a file.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn upload(&self) -> Result<Permit, ErrorCode> {
        acquire_or_shed(&self.uploads, request_context::account(), ShedKind::Upload).await
    }

    /// Returns the permits of responses being built or sent, one per kibibyte.
    pub fn answers(&self) -> &Arc<PermitPool> {
        &self.answers
    }

    /// Reserves the memory for a response of this many records and waits for a permit to build it, before any record is
    /// read. The request holds no request permit meanwhile.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn long_answer(&self, records: u64) -> Result<(), ErrorCode> {
        let bytes = usize::try_from(records).unwrap_or(usize::MAX).saturating_mul(RECORD_BYTES);
        if bytes <= SMALL_ANSWER_BYTES {
            return Ok(());
        }
        let lane = request_context::account();
        // Memory is not waited for: other clients have to read their responses first, and this request would hold its
        // permit meanwhile.
        let memory = self.answers.try_acquire(lane, kibibytes(bytes)).ok_or_else(shed_answer)?;
        release_permit();
        let building = self.long_answers.acquire(lane, LONG_ANSWER_TIMEOUT).await.ok_or_else(shed_answer)?;
        self.enter(lane).await?;
        request_permits::hold_long_answer(LongAnswer { building, memory });
        Ok(())
    }

    /// Returns the accounts that keys have opened.
    pub fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// Adjusts the reserved memory to the actual size of a response, or reserves it.
    ///
    /// Refusals: `service_unavailable`.
    pub fn memory(&self, reserved: Option<Permit>, bytes: usize) -> Result<Permit, ErrorCode> {
        let needed = kibibytes(bytes);
        let Some(mut memory) = reserved else {
            return self.answers.try_acquire(request_context::account(), needed).ok_or_else(shed_answer);
        };
        if memory.resize(needed) { Ok(memory) } else { Err(shed_answer()) }
    }
}

const KIB: usize = 1024;

fn kibibytes(bytes: usize) -> usize {
    // The largest response fits where nothing else is held.
    bytes.div_ceil(KIB).min(ANSWERS_BYTES_MAX / KIB / 2)
}

fn shed_answer() -> ErrorCode {
    count_shed(ShedKind::Answer);
    request_context::mark_shed();
    ErrorCode::ServiceUnavailable
}

/// Acquires a permit if one becomes free soon: a burst is not overload, unless the queue is full.
///
/// Refusals: `service_unavailable`.
async fn acquire_or_shed(pool: &Arc<PermitPool>, lane: Lane, what: ShedKind) -> Result<Permit, ErrorCode> {
    pool.acquire(lane, ADMISSION_TIMEOUT).await.ok_or_else(|| {
        count_shed(what);
        request_context::mark_shed();
        ErrorCode::ServiceUnavailable
    })
}

/// Maps fingerprints of API keys to the accounts that they have opened. All unknown keys share one lane.
pub struct Lanes {
    hasher: RandomState,
    /// The accounts by the fingerprints of their keys.
    pub accounts: Cache<u64, AccountToken>,
}

impl Lanes {
    fn new() -> Self {
        let accounts = Cache::builder().max_capacity(LANES_MAX).time_to_idle(LANE_IDLE).build();
        Self { hasher: RandomState::new(), accounts }
    }

    /// Returns the fingerprint under which a key is remembered; the key itself is not kept.
    pub fn fingerprint(&self, key: &Secret) -> u64 {
        self.hasher.hash_one(key.expose())
    }
}
