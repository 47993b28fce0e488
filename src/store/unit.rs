//! A unit of work with its data, its types forgotten: units of all kinds share a batch, and what runs them is compiled once
//! and not for each of them.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;

use entity::idempotency_key;
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::{DbErr, EntityName, RuntimeErr};

use super::connect::taken;
use super::tx::Tx;
use crate::error::{Error, ErrorCode};
use crate::trace::TraceContext;

/// A unit of work.
pub(super) struct UnitOfWork {
    work: Box<dyn Work>,
    /// For what it runs.
    cause: Option<TraceContext>,
}

/// What a unit returns.
pub(super) type Done = Box<dyn Any + Send>;
/// What came of a unit.
pub(super) type UnitResult = Result<Done, Error>;

trait Work: Send + Sync {
    fn run<'u>(&'u self, tx: &'u Tx) -> BoxFuture<'u, UnitResult>;
}

struct Typed<D, T, F> {
    data: D,
    unit: F,
    answers: PhantomData<fn() -> T>,
}

impl<D, T, F> Work for Typed<D, T, F>
where
    D: Send + Sync,
    T: Send + 'static,
    F: for<'u> Fn(&'u Tx, &'u D) -> BoxFuture<'u, Result<T, Error>> + Send + Sync,
{
    fn run<'u>(&'u self, tx: &'u Tx) -> BoxFuture<'u, UnitResult> {
        (self.unit)(tx, &self.data).map(|answer| answer.map(|it| Box::new(it) as Done)).boxed()
    }
}

impl UnitOfWork {
    pub fn new<D, T, F>(data: D, unit: F, cause: Option<TraceContext>) -> Self
    where
        D: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'u> Fn(&'u Tx, &'u D) -> BoxFuture<'u, Result<T, Error>> + Send + Sync + 'static,
    {
        Self { work: Box::new(Typed { data, unit, answers: PhantomData }), cause }
    }

    /// One run of it, of which there may be several; a panic of its is an error like any other.
    pub async fn run(&self, tx: &Tx) -> UnitResult {
        let run = async { self.work.run(tx.because_of(self.cause)).await };
        // It only holds its own data, which is not looked at again after a panic.
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(answer) => answer,
            Err(_) => Err(Error::internal("a unit of work panicked")),
        }
    }
}

/// An answer with its type again.
pub(super) fn typed<T: 'static>(answer: UnitResult) -> Result<T, Error> {
    let answer = answer?.downcast::<T>();
    answer.map(|it| *it).map_err(|_| Error::internal("another unit's answer"))
}

/// The commit did not happen.
pub(super) fn uncommitted(error: DbErr) -> Error {
    // Of two requests with one Idempotency-Key, this is the one that came second.
    if taken(&error, idempotency_key::Entity.table_name()) {
        return ErrorCode::IdempotencyKeyInUse.into();
    }
    error.into()
}

/// The commit may or may not have happened: nobody may act on either. Whatever the database said, it is `service_unavailable`.
pub(super) fn in_doubt(error: &DbErr) -> Error {
    tracing::error!(%error, "commit failed");
    DbErr::Conn(RuntimeErr::Internal(error.to_string())).into()
}
