//! How much the server takes on at once. What is too much is told so at once (503 `service_unavailable`, decisions 3),
//! before it costs memory, and what was let in keeps its pace.

use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::Site;
use super::answer::without_log;
use super::metrics::{Shed, count_shed};
use crate::error::ErrorCode;
use crate::limits::{
    ANSWERS_BYTES_MAX, CONNECTIONS_A_PLACE, GATE_WAIT, PLACES_A_LARGE_BODY, QUEUE_A_PLACE,
    SMALL_ANSWER_BYTES, TASKS_A_PLACE,
};
use crate::under_way;

/// The places there are.
///
/// A request takes one before anything is read of it but its head, and keeps it until it is answered, unless it begins
/// to wait for somebody who is neither the database nor the processor ([`under_way::gives_way`]): then it is others'.
/// After its own body it takes one again ([`Gate::enter`]); what it does after anybody else is paced by those it waited
/// for. So places bound what waits for the database (its pool, and
/// SQLite's writer), and connections all the rest. What goes on though its caller hangs up has places of its own, so that
/// a silent acquirer takes no more than those. What may be large in memory has, too: bodies, uploads and answers.
pub struct Gate {
    requests: Places,
    tasks: Places,
    large_bodies: Places,
    uploads: Places,
    // A place a kibibyte.
    answers: Places,
    connections: Places,
}

/// Places of one kind.
pub struct Places {
    free: Arc<Semaphore>,
    /// Who may wait for one.
    queue: Semaphore,
    all: usize,
}

impl Gate {
    /// As many requests at once, and what goes with them.
    pub fn new(requests: u16) -> Self {
        let requests = usize::from(requests);
        Self {
            requests: Places::new(requests),
            tasks: Places::new(requests * TASKS_A_PLACE),
            large_bodies: Places::new(requests.div_ceil(PLACES_A_LARGE_BODY)),
            uploads: Places::new(requests),
            answers: Places::new(ANSWERS_BYTES_MAX / KIB),
            connections: Places::new(requests * CONNECTIONS_A_PLACE),
        }
    }

    /// Of requests that are worked on.
    pub fn requests(&self) -> &Places {
        &self.requests
    }

    /// Of what goes on though its caller hangs up.
    pub fn tasks(&self) -> &Places {
        &self.tasks
    }

    /// Let the request under way begin, or go on, with a place.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn enter(&self) -> Result<(), ErrorCode> {
        let place = self.requests.soon().await.inspect_err(|_| count_shed(Shed::Request))?;
        under_way::holds(place, &self.tasks.free);
        Ok(())
    }

    /// Of connections.
    pub fn connections(&self) -> &Places {
        &self.connections
    }

    /// Hold a body in memory that is larger than most.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn large_body(&self) -> Result<OwnedSemaphorePermit, ErrorCode> {
        self.large_bodies.soon().await.inspect_err(|_| count_shed(Shed::LargeBody))
    }

    /// Receive a file.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn upload(&self) -> Result<OwnedSemaphorePermit, ErrorCode> {
        self.uploads.soon().await.inspect_err(|_| count_shed(Shed::Upload))
    }

    /// Of answers that are being sent, one a kibibyte.
    pub fn answers(&self) -> &Places {
        &self.answers
    }

    /// Hold an answer of so many bytes in memory for as long as its caller takes to read it.
    ///
    /// Refusals: `service_unavailable`.
    fn answer(&self, bytes: usize) -> Result<OwnedSemaphorePermit, ErrorCode> {
        let kibibytes = bytes.div_ceil(KIB).min(self.answers.all);
        // Not waited for: it is others who have to read, and whoever waits keeps his own place.
        self.answers.at_once(kibibytes).inspect_err(|_| count_shed(Shed::Answer))
    }
}

const KIB: usize = 1024;

impl Places {
    /// So many.
    pub fn new(all: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(all)), queue: Semaphore::new(all * QUEUE_A_PLACE), all }
    }

    /// How many are taken, and how many there are.
    pub fn taken(&self) -> (usize, usize) {
        (self.all - self.free.available_permits().min(self.all), self.all)
    }

    /// A place, whenever one is free.
    pub async fn wait(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        Arc::clone(&self.free).acquire_owned().await.ok()
    }

    /// So many places, if they are free.
    ///
    /// Refusals: `service_unavailable`.
    pub fn at_once(&self, places: usize) -> Result<OwnedSemaphorePermit, ErrorCode> {
        let places = u32::try_from(places).unwrap_or(u32::MAX);
        let free = Arc::clone(&self.free).try_acquire_many_owned(places);
        free.map_err(|_| ErrorCode::ServiceUnavailable)
    }

    /// A place, if one is free soon: a burst is no overload, unless others wait already.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn soon(&self) -> Result<OwnedSemaphorePermit, ErrorCode> {
        if let Ok(place) = self.at_once(1) {
            return Ok(place);
        }
        let Ok(_turn) = self.queue.try_acquire() else { return Err(ErrorCode::ServiceUnavailable) };
        let waiting = Arc::clone(&self.free).acquire_owned();
        timeout(GATE_WAIT, waiting).await.ok().and_then(Result::ok).ok_or(ErrorCode::ServiceUnavailable)
    }
}

/// Around the routes: let in whoever has a place, and keep of what goes out no more than there is room for.
pub async fn let_in(State(site): State<Site>, request: Request, next: Next) -> Response {
    // Nothing went wrong where there is none, and there may be thousands of them.
    let refused = |refused: ErrorCode| without_log(&refused.into());
    if let Err(code) = site.gate.enter().await {
        return refused(code);
    }
    // A document is the same bytes for all of its readers, and HEAD has none.
    let keeps = request.method() == Method::GET && request.uri().path().starts_with("/1/");
    let response = next.run(request).await;
    let bytes = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    match bytes {
        // What has changed something is said in any case, and never in as many words as a list.
        Some(bytes) if bytes > SMALL_ANSWER_BYTES && keeps => match site.gate.answer(bytes) {
            Ok(room) => kept(response, room).await,
            Err(code) => refused(code),
        },
        _ => response,
    }
}

/// An answer that gives its room back when the last of it is sent.
async fn kept(response: Response, room: OwnedSemaphorePermit) -> Response {
    let (head, body) = response.into_parts();
    // It is in memory already.
    let bytes = body.collect().await.map(|body| Held { bytes: body.to_bytes(), _room: room });
    Response::from_parts(head, bytes.map_or_else(|_| Body::empty(), |bytes| Bytes::from_owner(bytes).into()))
}

struct Held {
    bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
