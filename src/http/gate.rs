//! How much the server takes on at once. What is too much is told so at once (503 `service_unavailable`, decisions 3),
//! before it costs memory, and what was let in keeps its pace.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::Site;
use super::answer::without_log;
use super::metrics::{Shed, count_shed};
use crate::error::ErrorCode;
use crate::limits::{CONNECTIONS_A_PLACE, GATE_WAIT, PLACES_A_LARGE_BODY, QUEUE_A_PLACE};
use crate::under_way;

/// The places there are.
///
/// A request takes one before anything is read of it but its head, and keeps it until it is answered, unless it begins
/// to wait for somebody who is neither the database nor the processor ([`under_way::gives_way`]): then it is others'.
/// After its own body it takes one again ([`Gate::enter`]); what it does after anybody else is paced by those it waited
/// for. So places bound what waits for the database (its pool, and
/// SQLite's writer), and connections all the rest.
pub struct Gate {
    requests: Places,
    large_bodies: Places,
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
            large_bodies: Places::new(requests.div_ceil(PLACES_A_LARGE_BODY)),
            connections: Places::new(requests * CONNECTIONS_A_PLACE),
        }
    }

    /// Of requests that are worked on.
    pub fn requests(&self) -> &Places {
        &self.requests
    }

    /// Let the request under way begin, or go on, with a place.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn enter(&self) -> Result<(), ErrorCode> {
        let place = self.requests.soon().await.inspect_err(|_| count_shed(Shed::Request))?;
        under_way::holds(place);
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
}

impl Places {
    fn new(all: usize) -> Self {
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

    /// A place, if one is free soon: a burst is no overload, unless others wait already.
    ///
    /// Refusals: `service_unavailable`.
    pub async fn soon(&self) -> Result<OwnedSemaphorePermit, ErrorCode> {
        if let Ok(place) = Arc::clone(&self.free).try_acquire_owned() {
            return Ok(place);
        }
        let Ok(_turn) = self.queue.try_acquire() else { return Err(ErrorCode::ServiceUnavailable) };
        timeout(GATE_WAIT, self.wait()).await.ok().flatten().ok_or(ErrorCode::ServiceUnavailable)
    }
}

/// Around the routes: let in whoever has a place.
pub async fn let_in(State(site): State<Site>, request: Request, next: Next) -> Response {
    match site.gate.enter().await {
        Ok(()) => next.run(request).await,
        // Nothing went wrong, and there may be thousands of them.
        Err(refused) => without_log(&refused.into()),
    }
}
