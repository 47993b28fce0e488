//! Where statements run, on either database.

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult, Statement};

use super::connections::Connections;

/// Where statements run.
#[derive(Clone)]
pub enum Engine {
    /// A pool of connections to a file.
    Sqlite(DatabaseConnection),
    /// Connections to a server.
    Postgres(Connections),
}

impl Engine {
    /// The library's pool.
    pub(super) fn pool(&self) -> &DatabaseConnection {
        match self {
            Self::Sqlite(pool) => pool,
            Self::Postgres(connections) => connections.pool(),
        }
    }
}

#[async_trait]
impl ConnectionTrait for Engine {
    fn get_database_backend(&self) -> DbBackend {
        match self {
            Self::Sqlite(_) => DbBackend::Sqlite,
            Self::Postgres(_) => DbBackend::Postgres,
        }
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        match self {
            Self::Sqlite(pool) => pool.execute_raw(statement).await,
            Self::Postgres(connections) => connections.execute_raw(statement).await,
        }
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        match self {
            Self::Sqlite(pool) => pool.execute_unprepared(sql).await,
            Self::Postgres(connections) => connections.execute_unprepared(sql).await,
        }
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        match self {
            Self::Sqlite(pool) => pool.query_one_raw(statement).await,
            Self::Postgres(connections) => connections.query_one_raw(statement).await,
        }
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        match self {
            Self::Sqlite(pool) => pool.query_all_raw(statement).await,
            Self::Postgres(connections) => connections.query_all_raw(statement).await,
        }
    }
}
