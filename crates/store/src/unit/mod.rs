//! Type-erased units of work with their data: units of all kinds share a batch, and the code that runs them is compiled once
//! instead of once per kind.

pub(crate) mod deferred_updates;
pub(crate) mod derived;
pub(crate) mod open_transaction;
pub(crate) mod rows;
pub(crate) mod sums;
pub(crate) mod tx;
pub(crate) mod write_buffer;

use std::any::Any;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;

use base::trace::TraceContext;
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::{DbErr, RuntimeErr};

use crate::error::{StoreError, UnitError};
use crate::unit::tx::Tx;

/// A type-erased unit of work.
pub(crate) struct UnitOfWork {
    work: Box<dyn Work>,
    /// The trace that caused the unit.
    cause: Option<TraceContext>,
}

/// The value that a unit returns.
pub(crate) type Done = Box<dyn Any + Send>;
/// The result of running a unit.
pub(crate) type UnitResult = Result<Done, StoreError>;

trait Work: Send + Sync {
    fn run<'u>(&'u self, tx: &'u Tx) -> BoxFuture<'u, UnitResult>;
}

/// The code of a unit of work: an async function or closure over the transaction and the unit's own data. A closure captures
/// nothing, so the unit can reach nothing else.
pub trait Unit<D, T, E>:
    AsyncFn(&Tx, &D) -> Result<T, E> + for<'u> RunUnit<'u, D, T, E> + Send + Sync + 'static
{
}

impl<D, T, E, F> Unit<D, T, E> for F where
    F: AsyncFn(&Tx, &D) -> Result<T, E> + for<'u> RunUnit<'u, D, T, E> + Send + Sync + 'static
{
}

/// A bound that [`AsyncFn`] cannot express: a run of the unit may change threads.
pub trait RunUnit<'u, D, T, E> {
    /// A run of the unit.
    type Run: Future<Output = Result<T, E>> + Send + 'u;

    /// Begins a run.
    fn run(&self, tx: &'u Tx, data: &'u D) -> Self::Run;
}

impl<'u, D, T, E, F, R> RunUnit<'u, D, T, E> for F
where
    D: 'u,
    F: Fn(&'u Tx, &'u D) -> R,
    R: Future<Output = Result<T, E>> + Send + 'u,
{
    type Run = R;

    fn run(&self, tx: &'u Tx, data: &'u D) -> R {
        self(tx, data)
    }
}

struct Typed<D, T, E, F> {
    data: D,
    unit: F,
    answers: PhantomData<fn() -> Result<T, E>>,
}

impl<D, T, E, F> Work for Typed<D, T, E, F>
where
    D: Send + Sync,
    T: Send + 'static,
    E: UnitError,
    F: Unit<D, T, E>,
{
    fn run<'u>(&'u self, tx: &'u Tx) -> BoxFuture<'u, UnitResult> {
        let erased = |answer: Result<T, E>| answer.map(|it| Box::new(it) as Done).map_err(Into::into);
        self.unit.run(tx, &self.data).map(erased).boxed()
    }
}

impl UnitOfWork {
    pub fn new<D, T, E, F>(data: D, unit: F, cause: Option<TraceContext>) -> Self
    where
        D: Send + Sync + 'static,
        T: Send + 'static,
        E: UnitError,
        F: Unit<D, T, E>,
    {
        Self { work: Box::new(Typed { data, unit, answers: PhantomData }), cause }
    }

    /// Runs the unit, possibly one of several runs; a panic in it becomes an ordinary error.
    pub async fn run(&self, tx: &Tx) -> UnitResult {
        let run = async { self.work.run(tx.with_cause(self.cause)).await };
        // Unwind safe: the unit only holds its own data, which nothing reads after a panic.
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(answer) => answer,
            Err(_) => Err(StoreError::Internal("a unit of work panicked")),
        }
    }
}

/// Restores the types of a unit's result.
pub(crate) fn typed<T: 'static, E: UnitError>(answer: UnitResult) -> Result<T, E> {
    let answer = answer?.downcast::<T>();
    answer.map(|it| *it).map_err(|_| StoreError::Internal("another unit's answer").into())
}

/// Returns the error for a commit whose outcome is unknown, so no code may act on either outcome. It is `service_unavailable`
/// whatever the database said.
pub(crate) fn in_doubt(error: &DbErr) -> StoreError {
    tracing::error!(%error, "commit failed");
    DbErr::Conn(RuntimeErr::Internal(error.to_string())).into()
}
