//! Adapts SQLite to sea-orm: runs its statements in the way of the connection at hand.

use std::future::Future;

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, Statement};
use tokio::task::spawn_blocking;

use super::connection::{Connection, Run};
use super::readers::Readers;
use crate::read::columns::FromColumns;
use crate::statement_observer::show;

/// A source of a connection that runs statements.
pub(crate) trait StatementRunner: Send + Sync {
    /// Runs a statement, at once or after those queued before it.
    fn run<T: Send + 'static>(
        &self,
        statement: Statement,
        run: Run<T>,
    ) -> impl Future<Output = Result<T, DbErr>> + Send;
}

/// Implements sea-orm's `ConnectionTrait` for a `StatementRunner`.
#[derive(Clone)]
pub struct SqliteAdapter<D>(pub(crate) D);

impl SqliteAdapter<Readers> {
    /// Returns the records of all rows that a statement finds.
    pub async fn records<R: FromColumns>(&self, statement: Statement) -> Result<Vec<R>, DbErr> {
        show(&statement);
        self.0.run(statement, Connection::records).await
    }
}

#[async_trait]
impl<D: StatementRunner> ConnectionTrait for SqliteAdapter<D> {
    fn get_database_backend(&self) -> DbBackend {
        DbBackend::Sqlite
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        show(&statement);
        self.0.run(statement, Connection::execute).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        let text = Statement::from_string(DbBackend::Sqlite, sql);
        self.0.run(text, |connection, text| connection.execute_all(&text.sql)).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        show(&statement);
        self.0.run(statement, Connection::query_one).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        show(&statement);
        self.0.run(statement, Connection::query_all).await
    }
}

/// Starts work that may take long on a thread that may block.
pub(super) fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DbErr> + Send + 'static,
) -> impl Future<Output = Result<T, DbErr>> + Send {
    let begun = spawn_blocking(work);
    async { begun.await.map_err(|error| DbErr::Custom(error.to_string()))? }
}
