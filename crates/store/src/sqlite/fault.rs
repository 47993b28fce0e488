//! Converts SQLite's errors to the type in which the rest of the program reads database errors.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use rusqlite::ffi;
use sea_orm::sqlx::error::{DatabaseError, ErrorKind};
use sea_orm::{RuntimeErr, sqlx};

#[derive(Debug)]
struct Fault {
    /// The extended code, printed in decimal; the primary code is its low byte.
    code: i32,
    message: String,
}

/// Converts an error of a statement.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the library's own: a value that does not fit, a wrong number of parameters"
)]
pub(super) fn fault(error: rusqlite::Error) -> RuntimeErr {
    let (error, message) = match error {
        rusqlite::Error::SqliteFailure(error, message) => (error, message),
        rusqlite::Error::SqlInputError { error, msg, .. } => (error, Some(msg)),
        error => return RuntimeErr::Internal(error.to_string()),
    };
    let (code, message) =
        (error.extended_code, message.filter(|message| names_only(error.extended_code, message)));
    let fault = Box::new(Fault { code, message: message.unwrap_or_else(|| ffi::code_to_str(code).into()) });
    RuntimeErr::SqlxError(Arc::new(sqlx::Error::Database(fault)))
}

/// Returns whether a message names only what our own statements name. Messages about a damaged file or a searched word quote
/// what SQLite has read: pieces of pages, with data that clients have stored there.
fn names_only(code: i32, message: &str) -> bool {
    match code & 0xff {
        ffi::SQLITE_CONSTRAINT => true,
        ffi::SQLITE_ERROR => ["no such ", "near "].iter().any(|begins| message.starts_with(begins)),
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(code: i32, message: &str) -> String {
        fault(rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(message.into()))).to_string()
    }

    #[test]
    fn a_message_shows_names_of_ours_and_no_byte_of_a_page() {
        let unique = "UNIQUE constraint failed: idempotency_keys.account_id";
        assert!(rendered(ffi::SQLITE_CONSTRAINT_UNIQUE, unique).contains(unique));
        assert!(rendered(ffi::SQLITE_ERROR, "no such table: charges").contains("charges"));
        for (code, message) in [
            (ffi::SQLITE_CORRUPT, "malformed database schema (Roland Robot) - near \"Roland\": syntax error"),
            (ffi::SQLITE_ERROR, "malformed database schema (Roland Robot)"),
            (ffi::SQLITE_ERROR, "fts5: syntax error near \"Roland\""),
            (ffi::SQLITE_ERROR, "error in index Roland: no such column"),
        ] {
            let rendered = rendered(code, message);
            assert!(!rendered.contains("Roland") && rendered.contains(&code.to_string()), "{rendered}");
        }
    }
}
