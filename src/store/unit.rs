//! A unit of work with its data and the caller that waits for its answer.

use std::panic::AssertUnwindSafe;

use entity::idempotency_key;
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::EntityName;
use tokio::sync::oneshot;

use super::connect::taken;
use super::tx::Tx;
use crate::error::{Error, ErrorCode};

/// How a run of a unit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ran {
    /// It is done and may be committed.
    Done,
    /// It refused.
    Refused,
    /// The database failed it, or it panicked: what it wrote must go.
    Failed,
}

/// A unit whose types are forgotten, so that units of all kinds share a batch.
pub(super) trait Unit: Send {
    /// Run it, as often as need be.
    fn run<'u>(&'u mut self, tx: &'u Tx) -> BoxFuture<'u, Ran>;
    /// Tell the caller what the last run said.
    fn answer(self: Box<Self>);
    /// Tell the caller that nothing came of it.
    fn fail(self: Box<Self>, error: Error);
}

/// A unit, its last result, its caller.
pub(super) struct Waiting<D, T, F> {
    data: D,
    unit: F,
    result: Option<Result<T, Error>>,
    caller: oneshot::Sender<Result<T, Error>>,
}

impl<D, T, F> Waiting<D, T, F> {
    pub fn new(data: D, unit: F) -> (Self, oneshot::Receiver<Result<T, Error>>) {
        let (caller, answer) = oneshot::channel();
        (Self { data, unit, result: None, caller }, answer)
    }
}

impl<D, T, F> Unit for Waiting<D, T, F>
where
    D: Send + Sync,
    T: Send,
    F: for<'u> Fn(&'u Tx, &'u D) -> BoxFuture<'u, Result<T, Error>> + Send + Sync,
{
    fn run<'u>(&'u mut self, tx: &'u Tx) -> BoxFuture<'u, Ran> {
        Box::pin(async move {
            let Self { data, unit, result, .. } = self;
            let run = run(tx, data, unit).await;
            let ran = ran(&run);
            *result = Some(run);
            ran
        })
    }

    fn answer(self: Box<Self>) {
        let result = self.result.unwrap_or_else(|| Err(Error::internal("a unit was answered before it ran")));
        // A caller that went away needs no answer.
        let _ = self.caller.send(result);
    }

    fn fail(self: Box<Self>, error: Error) {
        let _ = self.caller.send(Err(error));
    }
}

/// Run a unit once; a panic of its is an error like any other.
pub(super) async fn run<D, T, F>(tx: &Tx, data: &D, unit: &F) -> Result<T, Error>
where
    F: for<'u> Fn(&'u Tx, &'u D) -> BoxFuture<'u, Result<T, Error>>,
{
    // The closure only holds the unit's own data, which is not looked at again after a panic.
    match AssertUnwindSafe(async { unit(tx, data).await }).catch_unwind().await {
        Ok(result) => result,
        Err(_) => Err(Error::internal("a unit of work panicked")),
    }
}

pub(super) fn ran<T>(result: &Result<T, Error>) -> Ran {
    match result {
        Ok(_) => Ran::Done,
        Err(Error::Refused(_) | Error::Invalid(_)) => Ran::Refused,
        Err(Error::Database(_) | Error::Vault(_) | Error::Internal(_)) => Ran::Failed,
    }
}

/// The commit did not happen.
pub(super) fn uncommitted(error: sea_orm::DbErr) -> Error {
    // Of two requests with one Idempotency-Key, this is the one that came second.
    if taken(&error, idempotency_key::Entity.table_name()) {
        return ErrorCode::IdempotencyKeyInUse.into();
    }
    error.into()
}

/// The commit may or may not have happened: nobody may act on either.
pub(super) fn in_doubt(error: &sea_orm::DbErr) -> Error {
    tracing::error!(%error, "commit failed");
    ErrorCode::ServiceUnavailable.into()
}
