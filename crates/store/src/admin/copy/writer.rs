//! The connection that writes to the source or the target of a copy, and the marks in either: entries of `installation`.

use std::sync::Arc;

use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr};

use crate::Store;
use crate::either::Either;
use crate::sqlite::{Connection, SqliteAdapter, WriteConnection};

/// A connection for statements that no unit of work makes.
pub(super) type RawWriter = Either<WriteConnection, DatabaseConnection>;

impl RawWriter {
    /// Connects to the database of a store.
    pub fn new<E>(store: &Store<E>) -> Result<Self, DbErr> {
        Ok(match store.read().inner() {
            Either::Sqlite(readers) => {
                let connection = Connection::open(&Arc::clone(readers.0.file()))?;
                // Rows come in the order of their keys, so a few pages are written at a time.
                connection.execute_all("PRAGMA cache_size = -4096")?;
                Self::Sqlite(SqliteAdapter(WriteConnection::on(connection)))
            }
            Either::Postgres(connections) => Self::Postgres(connections.pool().clone()),
        })
    }

    pub async fn set(&self, name: &str, value: &str) -> Result<(), DbErr> {
        let sql = format!(
            "INSERT INTO installation (name, value) VALUES ('{name}', {}) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            quoted(value)
        );
        self.execute_unprepared(&sql).await.map(drop)
    }

    /// Replaces a mark, unless it is not there or has the value `except`. Returns whether it was replaced.
    pub async fn replace(&self, name: &str, value: &str, except: &str) -> Result<bool, DbErr> {
        let sql = format!(
            "UPDATE installation SET value = '{value}' WHERE name = '{name}' AND value <> '{except}'"
        );
        Ok(self.execute_unprepared(&sql).await?.rows_affected() > 0)
    }

    /// Removes a mark, unless it is not there or has the value `except`. Returns whether it was removed.
    pub async fn remove(&self, name: &str, except: &str) -> Result<bool, DbErr> {
        let sql = format!("DELETE FROM installation WHERE name = '{name}' AND value <> '{except}'");
        Ok(self.execute_unprepared(&sql).await?.rows_affected() > 0)
    }

    /// Removes a mark that has this value.
    pub async fn unset(&self, name: &str, value: &str) -> Result<(), DbErr> {
        let sql = format!("DELETE FROM installation WHERE name = '{name}' AND value = {}", quoted(value));
        self.execute_unprepared(&sql).await.map(drop)
    }
}

/// Returns a text as SQL writes it.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
