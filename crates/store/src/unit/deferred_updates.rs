//! PostgreSQL's deferred updates: compare-and-sets on whose success a unit of work depends.
//!
//! Round trips decide throughput there. As long as a unit sends nothing else, its compare-and-sets are deferred and treated
//! as successful. They are sent with the buffered writes, in one statement that is a transaction of its own and fails if a
//! compare-and-set changed no row. Then the unit continued on a wrong guess: nothing is written, and it runs once more with
//! its compare-and-sets sent immediately.

use std::fmt::{self, Write};

use sea_orm::sea_query::{PostgresQueryBuilder, QueryBuilder, QueryStatementBuilder, SqlWriter};
use sea_orm::{DbBackend, DbErr, Statement, Value};

use crate::connect::answered;

/// The meaning of an update for its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Change {
    /// A query: the unit continues only if it finds a row.
    Requires,
    /// A compare-and-set: the unit continues only if it changes a row.
    Decides,
    /// An update whose row count the unit does not read.
    Follows,
}

/// An update that waits for the commit, or for the first statement that cannot be deferred.
#[derive(Debug, Clone)]
pub(crate) struct DeferredUpdate {
    pub change: Change,
    /// The text before, between and after the values.
    pub texts: Vec<String>,
    pub values: Vec<Value>,
}

impl DeferredUpdate {
    fn new(change: Change, statement: &impl QueryStatementBuilder) -> Self {
        let mut update = Self { change, texts: vec![String::new()], values: Vec::new() };
        statement.build_collect_any_into(&PostgresQueryBuilder, &mut update);
        update
    }

    pub fn into_statement(self) -> Statement {
        Statement::from_sql_and_values(DbBackend::Postgres, self.to_string(), self.values)
    }

    /// Returns the statement with `placeholder` of each value, by its position.
    pub fn text(&self, placeholder: impl Fn(usize) -> String) -> String {
        let mut sql = String::new();
        for (at, text) in self.texts.iter().enumerate() {
            if at > 0 {
                sql.push_str(&placeholder(at - 1));
            }
            sql.push_str(text);
        }
        sql
    }
}

impl Write for DeferredUpdate {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.as_writer().write_str(text)
    }
}

impl fmt::Display for DeferredUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|at| format!("${}", at + 1)))
    }
}

impl SqlWriter for DeferredUpdate {
    fn push_param<T: QueryBuilder>(&mut self, value: Value, _: &T) {
        self.values.push(value);
        self.texts.push(String::new());
    }

    fn as_writer(&mut self) -> &mut dyn Write {
        let last = self.texts.len() - 1;
        &mut self.texts[last]
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct DeferredUpdates(pub Vec<DeferredUpdate>);

impl DeferredUpdates {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the success of a compare-and-set was assumed.
    pub fn has_guessed(&self) -> bool {
        self.0.iter().any(|update| update.change != Change::Follows)
    }

    pub fn add(&mut self, change: Change, statement: &impl QueryStatementBuilder) {
        self.0.push(DeferredUpdate::new(change, statement));
    }

    /// Returns the CTEs and their values, for other CTEs to follow, and the expressions that the statement selects in the end:
    /// each divides by the number of rows that a compare-and-set changed.
    pub fn into_parts(self) -> (String, Vec<Value>, Vec<String>) {
        let (mut sql, mut values, mut won) = (String::new(), Vec::new(), Vec::new());
        for (n, update) in self.0.into_iter().enumerate() {
            let named = if n == 0 { "WITH" } else { "," };
            let text = update.text(|at| format!("${}", values.len() + at + 1));
            // Writing to a String cannot fail.
            let returning = if update.change == Change::Requires { "" } else { " RETURNING 1" };
            let _ = write!(sql, "{named} g{n} AS ({text}{returning})");
            if update.change != Change::Follows {
                won.push(format!("1 / (SELECT COUNT(*) FROM g{n})"));
            }
            values.extend(update.values);
        }
        (sql, values, won)
    }

    /// Returns a statement of these updates alone.
    pub fn into_statement(self) -> Statement {
        let (mut sql, values, won) = self.into_parts();
        let _ = write!(sql, " SELECT {}", won.join(", "));
        Statement::from_sql_and_values(DbBackend::Postgres, sql, values)
    }
}

/// The error of a unit that assumed what is not so. Nothing else in the store returns it.
pub(crate) const LOST: DbErr = DbErr::RecordNotUpdated;

/// Returns whether a statement failed because a compare-and-set in it changed no row: nothing else divides.
pub(crate) fn has_lost(error: &DbErr) -> bool {
    matches!(error, DbErr::RecordNotUpdated) || answered(error).is_some_and(|code| code == "22012")
}
