//! What SQLite says when it refuses, in the form in which the rest of the house reads a database's answers.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use rusqlite::ffi;
use sea_orm::sqlx::error::{DatabaseError, ErrorKind};
use sea_orm::{RuntimeErr, sqlx};

/// A refusal.
#[derive(Debug)]
struct Fault {
    /// Extended, in decimal; the plain code is its low byte.
    code: i32,
    message: String,
}

/// What became of a statement.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the library's own: a value that does not fit, a wrong number of parameters"
)]
pub(super) fn fault(error: rusqlite::Error) -> RuntimeErr {
    let (code, message) = match error {
        rusqlite::Error::SqliteFailure(error, message) => {
            (error.extended_code, message.unwrap_or_else(|| error.to_string()))
        }
        rusqlite::Error::SqlInputError { error, msg, .. } => (error.extended_code, msg),
        error => return RuntimeErr::Internal(error.to_string()),
    };
    let fault = Box::new(Fault { code, message });
    RuntimeErr::SqlxError(Arc::new(sqlx::Error::Database(fault)))
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "(code: {}) {}", self.code, self.message)
    }
}

impl StdError for Fault {}

impl DatabaseError for Fault {
    fn message(&self) -> &str {
        &self.message
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        Some(self.code.to_string().into())
    }

    fn kind(&self) -> ErrorKind {
        match self.code {
            ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY => ErrorKind::UniqueViolation,
            ffi::SQLITE_CONSTRAINT_NOTNULL => ErrorKind::NotNullViolation,
            _ => ErrorKind::Other,
        }
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }
}
