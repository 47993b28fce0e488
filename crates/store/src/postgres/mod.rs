//! PostgreSQL's writers: one transaction per unit, in READ COMMITTED, retried where the database reports a conflict between
//! two of them.

pub(crate) mod group_commit;
pub(crate) mod group_statement;
pub(crate) mod notifications;
pub(crate) mod pool;
pub(crate) mod probe;

use std::time::Duration;

use base::request_context::{detach, is_detached};
use base::trace;
use futures::FutureExt;
use sea_orm::DbErr;

use crate::connect::answered;
use crate::error::StoreError;
use crate::unit::deferred_updates::has_lost;
use crate::unit::open_transaction::CommitError;
use crate::unit::tx::{TransactionFactory, Tx};
use crate::unit::{Done, UnitOfWork, UnitResult, in_doubt};

const TRIES_MAX: u32 = 10;

/// Runs a unit in a task of its own, unless its caller is detached already, so that a caller who goes away does not stop it
/// half-way.
pub(crate) async fn run(factory: TransactionFactory, unit: UnitOfWork) -> UnitResult {
    let work = async move { repeated(&factory, &unit).await }.boxed();
    if is_detached() {
        return work.await;
    }
    let task = tokio::spawn(detach(trace::within(trace::current(), work)));
    task.await.unwrap_or_else(|_| Err(StoreError::Internal("a unit's task ended")))
}

async fn repeated(factory: &TransactionFactory, unit: &UnitOfWork) -> UnitResult {
    let mut guesses = true;
    for attempt in 1..=TRIES_MAX {
        let tx = if guesses { factory.guessing() } else { factory.tx() };
        match once(tx, unit).await {
            Err(Failed::Guessed) => guesses = false,
            Err(Failed::Error(StoreError::Database(error))) if collided(&error) => {
                tracing::debug!(%error, attempt, "a unit runs again");
                tokio::time::sleep(Duration::from_millis(u64::from(attempt * attempt))).await;
            }
            Err(Failed::Error(error)) => return Err(error),
            Ok(answer) => return Ok(answer),
        }
    }
    Err(StoreError::Unavailable)
}

/// The reason why a run failed.
enum Failed {
    /// The run continued after a compare-and-set whose success was assumed.
    Guessed,
    /// The unit or the database refused.
    Error(StoreError),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        if matches!(&error, StoreError::Database(error) if has_lost(error)) {
            Self::Guessed
        } else {
            Self::Error(error)
        }
    }
}

async fn once(tx: Tx, unit: &UnitOfWork) -> Result<Done, Failed> {
    match unit.run(&tx).await {
        Ok(answer) => {
            tx.keep_unit();
            match tx.commit().await {
                Ok(()) => Ok(answer),
                Err(CommitError::Failed(error)) => Err(error.into()),
                Err(CommitError::InDoubt(error)) => Err(Failed::Error(in_doubt(&error))),
            }
        }
        Err(error) => {
            // The error of an unreachable database does not prove the guess wrong.
            let away = matches!(&error, StoreError::Database(error) if !has_lost(error));
            let guessed = tx.has_guessed() && !away;
            tx.rollback().await;
            Err(if guessed { Failed::Guessed } else { Failed::Error(error) })
        }
    }
}

/// Returns whether two units conflicted: a serialisation failure, a deadlock, or a key that another unit has inserted since
/// this unit looked for it. A retry finds the other unit's row.
fn collided(error: &DbErr) -> bool {
    answered(error).is_some_and(|code| matches!(code.as_str(), "40001" | "40P01" | "23505"))
}
