//! Statements with constant text. Building a text of fifty columns costs as much as running it, so statements of nearly every
//! request are built once per database.

use std::sync::OnceLock;

use sea_orm::sea_query::SelectStatement;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, Statement, Value};

use crate::Reader;
use crate::read::columns::FromColumns;

/// The texts of a statement, one per kind of database.
pub struct CachedStatement {
    sqlite: OnceLock<String>,
    postgres: OnceLock<String>,
}

impl CachedStatement {
    /// Creates a statement whose texts are not built yet.
    #[expect(clippy::new_without_default, reason = "it stands in statics")]
    pub const fn new() -> Self {
        Self { sqlite: OnceLock::new(), postgres: OnceLock::new() }
    }

    /// Returns the one row that the statement finds with these values; `word` builds it, with the same values in the order of
    /// the text.
    pub async fn one<R: FromColumns>(
        &self,
        db: &Reader,
        values: Vec<Value>,
        word: impl FnOnce() -> SelectStatement,
    ) -> Result<Option<R>, DbErr> {
        let backend = db.get_database_backend();
        let statement = self.statement(values, backend, || backend.build(&word()));
        Ok(db.records(statement).await?.pop())
    }

    /// Returns the statement with these values, built by `build` with the same ones.
    pub fn statement(
        &self,
        values: Vec<Value>,
        backend: DbBackend,
        build: impl FnOnce() -> Statement,
    ) -> Statement {
        let text = if backend == DbBackend::Sqlite { &self.sqlite } else { &self.postgres };
        // In tests, a text with other values than its own panics.
        if cfg!(debug_assertions) {
            let statement = build();
            assert_eq!(statement.values.as_ref().map(|values| &values.0), Some(&values), "{}", statement.sql);
            assert_eq!(text.get_or_init(|| statement.sql.clone()), &statement.sql);
            return statement;
        }
        let text = text.get_or_init(|| build().sql);
        Statement::from_sql_and_values(backend, text, values)
    }
}
