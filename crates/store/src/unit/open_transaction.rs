//! A transaction that has begun, on either database.

use base::mutants::{self, Mutant};
use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult, RuntimeErr};

use crate::connect::answered;
use crate::either::{Either, Origin};
use crate::error::StoreError;
use crate::postgres::pool::Transaction;
use crate::sqlite::WriteConnection;
use crate::unit::write_buffer::WriteStatement;

/// A transaction that has begun: on SQLite the state of the writer's only connection, on PostgreSQL a connection of its own.
pub(crate) type OpenTransaction = Either<WriteConnection, Transaction>;

/// The reason why a transaction is not known to be committed.
#[derive(Debug)]
pub(crate) enum CommitError {
    /// The unit or the database refused: nothing was committed.
    Failed(StoreError),
    /// The commit itself failed, or its answer is lost: it may have happened.
    InDoubt(DbErr),
}

impl OpenTransaction {
    pub(crate) async fn begin(origin: &Origin) -> Result<Self, DbErr> {
        match origin {
            Either::Sqlite(writing) => {
                // A deferred transaction that reads first fails under load, whatever the busy time-out.
                writing.0.execute("BEGIN IMMEDIATE")?;
                writing.0.connection().pass(None);
                Ok(Self::Sqlite(writing.clone()))
            }
            Either::Postgres(connections) => {
                let mut transaction = connections.transaction().await?;
                transaction.begin().await?;
                Ok(Self::Postgres(transaction))
            }
        }
    }

    /// Begins a transaction that consists of the buffered writes alone.
    pub(crate) async fn alone(origin: &Origin) -> Result<Self, DbErr> {
        match origin {
            Either::Sqlite(_) => Self::begin(origin).await,
            // A single statement needs no BEGIN.
            Either::Postgres(connections) => connections.transaction().await.map(Self::Postgres),
        }
    }

    /// Returns the slot of the counts and balances that it writes: SQLite's single writer needs one.
    pub(crate) fn slot(&self) -> i32 {
        match self {
            Self::Sqlite(_) => 0,
            Self::Postgres(transaction) => transaction.slot,
        }
    }

    /// Writes the buffered statements and commits. Returns whether rows were derived.
    pub(crate) async fn commit(self, appended: Vec<WriteStatement>) -> Result<bool, CommitError> {
        match self {
            Self::Sqlite(writing) => {
                let written = write(&writing, appended).await;
                let committed = written.and_then(|derived| writing.0.execute("COMMIT").map(|()| derived));
                committed.or_else(|error| {
                    roll_back(&writing.0);
                    if mutants::is(Mutant::FailedCommitAnswered) {
                        Ok(false)
                    } else {
                        Err(uncommitted(error))
                    }
                })
            }
            Self::Postgres(mut transaction) => {
                if !transaction.has_begun() {
                    // A single statement is a transaction of its own.
                    if appended.len() == 1 {
                        return write(&transaction, appended).await.map_err(uncommitted);
                    }
                    transaction.begin().await.map_err(uncommitted)?;
                }
                let derived =
                    write(&transaction, appended).await.map_err(|error| CommitError::Failed(error.into()))?;
                transaction.commit().await.map_err(uncommitted).map(|()| derived)
            }
        }
    }

    /// Rolls back.
    pub(crate) async fn rollback(self) {
        match self {
            Self::Sqlite(writing) => roll_back(&writing.0),
            // A connection that cannot roll back is dropped, which rolls back.
            Self::Postgres(transaction) => drop(transaction.rollback().await),
        }
    }
}

async fn write(connection: &impl ConnectionTrait, appended: Vec<WriteStatement>) -> Result<bool, DbErr> {
    let (mut derived, mut any) = (false, false);
    for writes in appended {
        match writes {
            WriteStatement::Rows(statement) => {
                connection.execute_raw(statement).await?;
            }
            WriteStatement::Derived(statement) if statement.db_backend == DbBackend::Sqlite => {
                derived = connection.execute_raw(statement).await?.rows_affected() > 0;
                any |= derived;
            }
            WriteStatement::Derived(statement) => {
                // If it is a transaction of its own, this is its commit: the driver reads on until the server has confirmed it.
                let row = connection.query_one_raw(statement).await?;
                any |= has_derived(row)?;
            }
            WriteStatement::IfDerived(statement) => {
                if derived {
                    connection.execute_raw(statement).await?;
                }
            }
        }
    }
    Ok(any)
}

/// Returns whether a statement of PostgreSQL has derived rows, as its only row says.
pub(crate) fn has_derived(row: Option<QueryResult>) -> Result<bool, DbErr> {
    let rows = row.map(|row| row.try_get::<i64>("", "derived")).transpose()?;
    Ok(rows.unwrap_or_default() > 0)
}

/// Ends the transaction after any failure.
fn roll_back(writing: &WriteConnection) {
    // Fails harmlessly if the transaction has ended already.
    let _ = writing.execute("ROLLBACK");
}

/// Classifies the error of a commit: a database that answers did not commit; after a failure of connection or disk the outcome
/// is unknown.
pub(crate) fn uncommitted(error: DbErr) -> CommitError {
    const DISK: [&str; 2] = ["10", "13"];
    match answered(&error) {
        // It was never sent: a value of ours that no column takes.
        None if matches!(
            error,
            DbErr::Exec(RuntimeErr::Internal(_)) | DbErr::Query(RuntimeErr::Internal(_))
        ) =>
        {
            CommitError::Failed(error.into())
        }
        // SQLite's extended codes have the primary code in their low byte.
        Some(code) if !DISK.contains(&plain(&code).as_str()) => CommitError::Failed(error.into()),
        Some(_) | None => CommitError::InDoubt(error),
    }
}

fn plain(code: &str) -> String {
    code.parse::<u32>().map_or_else(|_| code.to_owned(), |code| (code & 0xff).to_string())
}
