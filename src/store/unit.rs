//! Type-erased units of work with their data: units of all kinds share a batch, and the code that runs them is compiled once
//! instead of once per kind.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::{DbErr, RuntimeErr};

use super::tx::Tx;
use crate::error::Error;
use crate::trace::TraceContext;

/// A type-erased unit of work.
pub(super) struct UnitOfWork {
    work: Box<dyn Work>,
    /// The trace that caused the unit.
    cause: Option<TraceContext>,
}

/// The value that a unit returns.
pub(super) type Done = Box<dyn Any + Send>;
/// The result of running a unit.
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

    /// Runs the unit, possibly one of several runs; a panic in it becomes an ordinary error.
    pub async fn run(&self, tx: &Tx) -> UnitResult {
        let run = async { self.work.run(tx.with_cause(self.cause)).await };
        // Unwind safe: the unit only holds its own data, which nothing reads after a panic.
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(answer) => answer,
            Err(_) => Err(Error::internal("a unit of work panicked")),
        }
    }
}

/// Restores the type of a unit's result.
pub(super) fn typed<T: 'static>(answer: UnitResult) -> Result<T, Error> {
    let answer = answer?.downcast::<T>();
    answer.map(|it| *it).map_err(|_| Error::internal("another unit's answer"))
}

/// Returns the error for a commit whose outcome is unknown, so no code may act on either outcome. It is `service_unavailable`
/// whatever the database said.
pub(super) fn in_doubt(error: &DbErr) -> Error {
    tracing::error!(%error, "commit failed");
    DbErr::Conn(RuntimeErr::Internal(error.to_string())).into()
}
