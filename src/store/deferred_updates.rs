//! PostgreSQL's deferred updates: compare-and-sets on whose success a unit of work depends.
//!
//! Round trips decide throughput there. As long as a unit sends nothing else, its compare-and-sets are deferred and treated
//! as successful. They are sent with the buffered writes, in one statement that is a transaction of its own and fails if a
//! compare-and-set changed no row. Then the unit continued on a wrong guess: nothing is written, and it runs once more with
//! its compare-and-sets sent at once.

use std::fmt::Write;

use sea_orm::sea_query::{PostgresQueryBuilder, QueryStatementBuilder, SqlWriterValues, Values};
use sea_orm::{DbBackend, DbErr, Statement, Value};

use super::connect::answered;

/// The meaning of an update for its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// A compare-and-set: the unit continues only if it changes a row.
    Decides,
    /// An update whose row count the unit does not read.
    Follows,
}

/// Updates that wait for the commit, or for the first statement that cannot be deferred.
#[derive(Debug, Clone)]
pub(super) struct DeferredUpdates {
    /// `WITH g0 AS (UPDATE ... RETURNING 1), g1 AS (...)`.
    parts: SqlWriterValues,
    /// The kind of each update, by its number.
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

    /// Returns whether the success of a compare-and-set was assumed.
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

    /// Returns the CTEs and their values, for other CTEs to follow, and the expressions that the statement selects in the end:
    /// each divides by the number of rows that a compare-and-set changed.
    pub fn into_parts(self) -> (String, Vec<Value>, Vec<String>) {
        let guards = self.changes.iter().enumerate().filter(|(_, change)| **change == Change::Decides);
        let won = guards.map(|(n, _)| format!("1 / (SELECT COUNT(*) FROM g{n})")).collect();
        let (sql, Values(values)) = self.parts.into_parts();
        (sql, values, won)
    }

    /// Returns a statement of these updates alone.
    pub fn into_statement(self) -> Statement {
        let (mut sql, values, won) = self.into_parts();
        let _ = write!(sql, " SELECT {}", won.join(", "));
        Statement::from_sql_and_values(DbBackend::Postgres, sql, values)
    }
}

/// Returns whether a statement failed because a compare-and-set in it changed no row: nothing else divides.
pub(super) fn has_lost(error: &DbErr) -> bool {
    answered(error).is_some_and(|code| code == "22012")
}
