//! The database beside the server, as an operator's own tools see it.

use rusqlite::types::FromSql;
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, Statement, TryGetable};

/// A connection that is closed when it is dropped.
pub enum RawDatabase {
    Sqlite(rusqlite::Connection),
    Postgres(DatabaseConnection),
}

impl RawDatabase {
    /// Connects to the database at an address as the server takes it.
    pub async fn connect(url: &str) -> Self {
        match url.strip_prefix("sqlite:") {
            Some(path) => Self::Sqlite(rusqlite::Connection::open(path).unwrap()),
            None => Self::Postgres(sea_orm::Database::connect(url).await.unwrap()),
        }
    }

    /// Runs statements, for what no request and no command can change, in one transaction.
    pub async fn execute(self, sql: &str) {
        match self {
            Self::Sqlite(connection) => {
                connection.execute_batch(&format!("BEGIN IMMEDIATE; {sql}; COMMIT")).unwrap();
            }
            Self::Postgres(connection) => {
                connection.execute_unprepared(sql).await.unwrap();
                connection.close().await.unwrap();
            }
        }
    }

    /// Returns one number.
    pub async fn number(self, sql: &str) -> i64 {
        let number = self.count(sql).await;
        self.close().await;
        number
    }

    /// Returns one number, and stays open.
    pub async fn count(&self, sql: &str) -> i64 {
        self.one(format!("SELECT CAST(({sql}) AS BIGINT) AS one")).await
    }

    /// Returns one text.
    pub async fn text(self, sql: &str) -> String {
        let text = self.one(format!("SELECT ({sql}) AS one")).await;
        self.close().await;
        text
    }

    async fn one<T: FromSql + TryGetable>(&self, sql: String) -> T {
        match self {
            Self::Sqlite(connection) => connection.query_row(&sql, [], |row| row.get(0)).unwrap(),
            Self::Postgres(connection) => {
                let row = connection.query_one_raw(Statement::from_string(DbBackend::Postgres, sql)).await;
                row.unwrap().unwrap().try_get("", "one").unwrap()
            }
        }
    }

    async fn close(self) {
        if let Self::Postgres(connection) = self {
            connection.close().await.unwrap();
        }
    }
}
