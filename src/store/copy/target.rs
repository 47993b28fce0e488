//! The database that a copy is written to.

use std::sync::Arc;

use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr, RuntimeErr, Statement, sqlx};

use super::row::Chunk;
use super::table::Table;
use crate::runtime::clock::IdGenerator;
use crate::store::connect::{ConnectError, Location};
use crate::store::either::Either;
use crate::store::installation_info::COPYING;
use crate::store::sqlite::{Connection, FileLock, SqliteAdapter, WriteConnection};
use crate::store::{Snapshot, Store};

pub(super) struct Target {
    pub store: Store,
    writer: Either<WriteConnection, DatabaseConnection>,
    /// Keeps servers away.
    _lock: Option<FileLock>,
}

impl Target {
    /// Opens the database, with its schema.
    pub async fn open(location: &Location) -> Result<Self, ConnectError> {
        let lock = location.lock()?;
        let store = Store::open_locked(location, lock.as_ref(), IdGenerator::default().into()).await?;
        let writer = match store.read().inner() {
            Either::Sqlite(readers) => {
                let connection = Connection::open(&Arc::clone(readers.0.file()))?;
                Either::Sqlite(SqliteAdapter(WriteConnection::on(connection)))
            }
            Either::Postgres(connections) => Either::Postgres(connections.pool().clone()),
        };
        Ok(Self { store, writer, _lock: lock })
    }

    /// Returns the rows as they are now.
    pub async fn snapshot(&self) -> Result<Snapshot, DbErr> {
        self.store.snapshot().await
    }

    /// Marks the database as an unfinished copy.
    pub async fn mark(&self) -> Result<(), DbErr> {
        let sql = format!("INSERT INTO installation (name, value) VALUES ('{COPYING}', 'unfinished')");
        self.writer.execute_unprepared(&sql).await.map(drop)
    }

    /// Takes the mark away.
    pub async fn unmark(&self) -> Result<(), DbErr> {
        let sql = format!("DELETE FROM installation WHERE name = '{COPYING}'");
        self.writer.execute_unprepared(&sql).await.map(drop)
    }

    /// Deletes the rows of a table, but for the mark.
    pub async fn clear(&self, table: &Table) -> Result<(), DbErr> {
        let clear = table.clear(self.writer.get_database_backend());
        self.writer.execute_unprepared(&clear).await.map(drop)
    }

    /// Adds rows in one transaction.
    pub async fn insert(&self, table: &Table, chunk: Chunk) -> Result<(), DbErr> {
        if chunk.rows.is_empty() {
            return Ok(());
        }
        let (name, columns) = (&table.name, table.column_list());
        match &self.writer {
            Either::Sqlite(connection) => {
                connection.execute_unprepared("BEGIN IMMEDIATE").await?;
                let values = vec!["?"; table.columns.len()].join(", ");
                let sql = format!("INSERT INTO \"{name}\" ({columns}) VALUES ({values})");
                for row in chunk.rows {
                    let insert = Statement::from_sql_and_values(DbBackend::Sqlite, &sql, row.values);
                    connection.execute_raw(insert).await?;
                }
                connection.execute_unprepared("COMMIT").await?;
            }
            Either::Postgres(database) => {
                let sql = format!("COPY \"{name}\" ({columns}) FROM STDIN (FORMAT binary)");
                let copied = async {
                    let mut connection = database.get_postgres_connection_pool().acquire().await?;
                    let mut copy = connection.copy_in_raw(&sql).await?;
                    copy.send(chunk.encode()).await?;
                    copy.finish().await
                };
                copied.await.map_err(failed)?;
            }
        }
        Ok(())
    }
}

fn failed(error: sqlx::Error) -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(error.into()))
}
