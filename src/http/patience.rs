//! Requests that wait for something to happen. They hold a connection and nothing else.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio::time::timeout;

use super::AppState;
use super::extract::Input;
use super::hangup::Hangup;
use super::server::ServerPhase;
use crate::error::Error;
use crate::params::Paging;
use crate::runtime::request_context;
use crate::runtime::request_permits::{release_permit, take_long_answer};

/// What ends the wait of a request besides its goal.
pub struct Patience {
    hangup: Option<Arc<Hangup>>,
}

impl FromRequestParts<AppState> for Patience {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Infallible> {
        Ok(Self { hangup: parts.extensions.get::<Arc<Hangup>>().map(Arc::clone) })
    }
}

impl Patience {
    /// Waits for a goal: at most so long, until the client hangs up, or until the server wants no new work. The request
    /// holds no permit meanwhile, and takes those of its answer again.
    ///
    /// Refusals: those of the goal, `service_unavailable`.
    pub async fn wait(
        self,
        app: &AppState,
        input: &Input,
        at_most: Duration,
        goal: impl Future<Output = Result<(), Error>>,
    ) -> Result<(), Error> {
        drop(take_long_answer());
        release_permit();
        let mut phase = app.phase.clone();
        let hangup = async {
            match &self.hangup {
                Some(hangup) => hangup.happens().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            reached = timeout(at_most, goal) => reached.unwrap_or(Ok(()))?,
            () = hangup => {}
            _ = phase.wait_for(|phase| *phase > ServerPhase::Serving) => {}
        }
        if let Some(hangup) = &self.hangup {
            hangup.ignore();
        }
        app.admission.enter(request_context::account()).await?;
        Ok(app.admission.long_answer(Paging::records_max(input.tree())).await?)
    }
}
