//! The reason why a unit of work fails. Units have an error of their own, which the store carries without knowing it.

use std::any::Any;

use sea_orm::DbErr;
use sea_orm::RuntimeErr::SqlxError;
use sea_orm::sqlx::Error as Sqlx;

/// The reason why a unit of work failed: the database, the store, or the unit, whose own error is inside.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database failed.
    #[error("database: {0}")]
    Database(#[from] DbErr),
    /// The database cannot be used now; a later try may succeed.
    #[error("the database is unavailable")]
    Unavailable,
    /// An internal error. The text is for the log.
    #[error("internal: {0}")]
    Internal(&'static str),
    /// The unit refused, before its first write.
    #[error("the unit refused")]
    Refused(Box<dyn Any + Send + Sync>),
    /// The unit failed: its writes must be rolled back.
    #[error("the unit failed")]
    Failed(Box<dyn Any + Send + Sync>),
}

impl StoreError {
    /// Returns whether the database is unreachable or busy, rather than refusing a statement.
    pub(crate) fn is_unavailable(&self) -> bool {
        match self {
            Self::Database(error) => is_unavailable(error),
            Self::Unavailable => true,
            Self::Internal(_) | Self::Refused(_) | Self::Failed(_) => false,
        }
    }
}

/// The error of units: the store's errors become it, and it becomes [`StoreError::Refused`] or [`StoreError::Failed`] on its way
/// through the store.
pub trait UnitError: From<StoreError> + Into<StoreError> + 'static {}

impl<E: From<StoreError> + Into<StoreError> + 'static> UnitError for E {}

/// Returns whether the database is unreachable or busy, rather than refusing a statement.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "libraries' faults, and they may add some: those are ours to look at"
)]
pub fn is_unavailable(error: &DbErr) -> bool {
    match error {
        // An error before any statement is the database's own condition: a PostgreSQL that is being killed answers the
        // first byte of a connection in a way that its driver does not expect.
        DbErr::ConnectionAcquire(_) | DbErr::Conn(_) => true,
        DbErr::Exec(SqlxError(error)) | DbErr::Query(SqlxError(error)) => match &**error {
            Sqlx::Io(_) | Sqlx::Tls(_) | Sqlx::PoolTimedOut | Sqlx::PoolClosed | Sqlx::WorkerCrashed => true,
            Sqlx::Database(answer) => answer.code().is_some_and(|code| out_of_order(&code)),
            _ => false,
        },
        _ => false,
    }
}

/// Returns whether a database's error code reports its condition, rather than a refused statement.
fn out_of_order(code: &str) -> bool {
    // PostgreSQL's codes have five characters; SQLite's are shorter numbers with the primary code in their low byte.
    if code.len() < 5 {
        // A trigger's refusal: the installation has moved.
        const REFUSED_BY_TRIGGER: u32 = 1811;
        // Busy, locked, read-only, I/O error, full, cannot open.
        return code.parse::<u32>().is_ok_and(|code| {
            code == REFUSED_BY_TRIGGER
                || is_damage(code)
                || matches!(code & 0xff, 5 | 6 | 7 | 8 | 10 | 13 | 14 | 15)
        });
    }
    // Lost connections; out of resources, above all disk; shutting down or starting; a lock, statement or transaction
    // time-out; an I/O error; a replica.
    code.starts_with("08")
        || code.starts_with("53")
        || matches!(
            code,
            "57P01"
                | "57P02"
                | "57P03"
                | "57P04"
                | "57P05"
                | "55P03"
                | "57014"
                | "25P03"
                | "25P04"
                | "58030"
                | "25006"
        )
}

/// Returns whether a code of SQLite says that a page of the file is none of a database (SQLITE_CORRUPT, SQLITE_NOTADB). An index of
/// words that is wrong in itself is less: it can be built again.
pub(crate) fn is_damage(code: u32) -> bool {
    const CORRUPT_VTAB: u32 = 267;
    code != CORRUPT_VTAB && matches!(code & 0xff, 11 | 26)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_full_or_fails_is_the_databases_condition_and_a_wrong_statement_is_not() {
        // SQLITE_FULL, SQLITE_IOERR_FSYNC, SQLITE_READONLY_DBMOVED, SQLITE_BUSY_SNAPSHOT, SQLITE_CORRUPT, SQLITE_NOTADB; disk_full,
        // io_error.
        for code in ["13", "1034", "1032", "517", "11", "26", "53100", "58030"] {
            assert!(out_of_order(code), "{code}");
        }
        // SQLITE_ERROR, SQLITE_CONSTRAINT_UNIQUE, SQLITE_CORRUPT_VTAB; syntax_error, unique_violation, division_by_zero.
        for code in ["1", "2067", "267", "42601", "23505", "22012"] {
            assert!(!out_of_order(code), "{code}");
        }
    }
}
