//! A connection to one of the two databases.

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt};
use sea_orm::{
    ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, ExecResult, QueryResult, Statement, StreamTrait,
};

use crate::postgres::pool::PostgresPool;
use crate::read::columns::{FromColumns, PostgresRow};
use crate::sqlite::{ReadSnapshot, Readers, SqliteAdapter, WriteConnection};

/// A connection to SQLite or PostgreSQL.
#[derive(Clone)]
pub enum Either<S, P> {
    /// A connection to SQLite.
    Sqlite(SqliteAdapter<S>),
    /// A connection to PostgreSQL.
    Postgres(P),
}

/// The connections that reads run on.
pub(crate) type Reading = Either<Readers, PostgresPool>;
/// The connections on which transactions begin.
pub(crate) type Origin = Either<WriteConnection, PostgresPool>;
/// A read transaction: all its queries see the same committed state.
pub type Snapshot = Either<ReadSnapshot, DatabaseTransaction>;

impl Reading {
    /// Returns the records of all rows that a statement finds.
    pub async fn records<R: FromColumns>(&self, statement: Statement) -> Result<Vec<R>, DbErr> {
        match self {
            Self::Sqlite(readers) => readers.records(statement).await,
            Self::Postgres(connections) => {
                let rows = connections.query_all_raw(statement).await?;
                rows.iter().map(|row| R::read(&mut PostgresRow::new(row))).collect()
            }
        }
    }

    /// Returns the row of a statement that is planned for its values each time: they decide which plan is fast, and the slowest
    /// plan takes far longer than planning.
    pub async fn one_planned(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        match self {
            // SQLite's plan is the same for all values.
            Self::Sqlite(readers) => readers.query_one_raw(statement).await,
            Self::Postgres(connections) => Box::pin(connections.one_planned(statement)).await,
        }
    }
}

impl Snapshot {
    /// Returns all rows that a statement finds, with few in memory at a time.
    pub async fn stream(
        &self,
        statement: Statement,
    ) -> Result<BoxStream<'_, Result<QueryResult, DbErr>>, DbErr> {
        match self {
            Self::Sqlite(look) => Ok(look.0.stream(statement)),
            Self::Postgres(transaction) => Ok(transaction.stream_raw(statement).await?.boxed()),
        }
    }
}

#[async_trait]
impl<S, P> ConnectionTrait for Either<S, P>
where
    S: Send + Sync,
    SqliteAdapter<S>: ConnectionTrait,
    P: ConnectionTrait,
{
    fn get_database_backend(&self) -> DbBackend {
        match self {
            Self::Sqlite(_) => DbBackend::Sqlite,
            Self::Postgres(_) => DbBackend::Postgres,
        }
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        match self {
            Self::Sqlite(connection) => connection.execute_raw(statement).await,
            Self::Postgres(connection) => connection.execute_raw(statement).await,
        }
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        match self {
            Self::Sqlite(connection) => connection.execute_unprepared(sql).await,
            Self::Postgres(connection) => connection.execute_unprepared(sql).await,
        }
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        match self {
            Self::Sqlite(connection) => connection.query_one_raw(statement).await,
            Self::Postgres(connection) => connection.query_one_raw(statement).await,
        }
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        match self {
            Self::Sqlite(connection) => connection.query_all_raw(statement).await,
            Self::Postgres(connection) => connection.query_all_raw(statement).await,
        }
    }
}
