//! Requests that wait for something to happen. They hold a connection and nothing else.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;

use super::AppState;
use super::server::ServerPhase;
use crate::error::Error;
use crate::runtime::request_context;
use crate::runtime::request_permits::{release_permit, take_long_answer};

/// Waits for a goal: at most so long, or until the server wants no new work. The request holds no permit meanwhile, and takes
/// one again; of memory, as much as its answer turns out to need.
///
/// Refusals: those of the goal, `service_unavailable`.
pub async fn wait_for(
    goal: impl Future<Output = Result<(), Error>>,
    at_most: Duration,
    app: &AppState,
) -> Result<(), Error> {
    drop(take_long_answer());
    release_permit();
    let mut phase = app.phase.clone();
    tokio::select! {
        reached = timeout(at_most, goal) => reached.unwrap_or(Ok(()))?,
        _ = phase.wait_for(|phase| *phase > ServerPhase::Serving) => {}
    }
    Ok(app.admission.enter(request_context::account()).await?)
}
