//! PostgreSQL's guards: compare-and-sets on whose success a unit of work goes on.
//!
//! Round trips decide throughput there. So as long as a unit sends nothing else, its guards are held and answered as if
//! they had won. They leave with what was appended, in one statement that is a transaction of its own and fails where a
//! guard has lost. Then the unit has gone on from a wrong guess: nothing is written, and it runs once more with its
//! guards sent at once.

use std::fmt::Write;

use sea_orm::sea_query::{PostgresQueryBuilder, QueryStatementBuilder, SqlWriterValues, Values};
use sea_orm::{DbBackend, DbErr, Statement, Value};

use super::connect::answered;

/// What a change means for its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The unit goes on if it changes a row.
    Decides,
    /// Nobody looks at what it changes.
    Follows,
}

/// Changes that wait for the commit, or for the first statement that does not.
#[derive(Debug, Clone)]
pub(super) struct DeferredUpdates {
    /// `WITH g0 AS (UPDATE ... RETURNING 1), g1 AS (...)`.
    parts: SqlWriterValues,
    /// By its number: what each means.
    changes: Vec<Change>,
}

impl Default for DeferredUpdates {
    fn default() -> Self {
        Self { parts: SqlWriterValues::new("$", true), changes: Vec::new() }
    }
}

impl DeferredUpdates {
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether a guard is answered that nobody has asked yet.
    pub fn has_guessed(&self) -> bool {
        self.changes.contains(&Change::Decides)
    }

    pub fn add(&mut self, change: Change, statement: &impl QueryStatementBuilder) {
        let named = if self.is_empty() { "WITH" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(self.parts, "{named} g{} AS (", self.changes.len());
        statement.build_collect_any_into(&PostgresQueryBuilder, &mut self.parts);
        let _ = write!(self.parts, " RETURNING 1)");
        self.changes.push(change);
    }

    /// The parts and their values, for others to follow, and what a statement of such parts selects in the end: it divides by
    /// the rows that each guard has changed.
    pub fn into_parts(self) -> (String, Vec<Value>, Vec<String>) {
        let guards = self.changes.iter().enumerate().filter(|(_, change)| **change == Change::Decides);
        let won = guards.map(|(n, _)| format!("1 / (SELECT COUNT(*) FROM g{n})")).collect();
        let (sql, Values(values)) = self.parts.into_parts();
        (sql, values, won)
    }

    /// A statement of nothing else.
    pub fn into_statement(self) -> Statement {
        let (mut sql, values, won) = self.into_parts();
        let _ = write!(sql, " SELECT {}", won.join(", "));
        Statement::from_sql_and_values(DbBackend::Postgres, sql, values)
    }
}

/// Whether a statement failed because a guard in it has lost: nothing else divides.
pub(super) fn has_lost(error: &DbErr) -> bool {
    answered(error).is_some_and(|code| code == "22012")
}
