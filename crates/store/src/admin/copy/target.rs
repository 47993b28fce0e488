//! The database that a copy is written to.

use base::clock::IdGenerator;
use sea_orm::sqlx::{self, AssertSqlSafe, PgConnection};
use sea_orm::{
    ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, RuntimeErr, Statement, TransactionTrait,
};

use super::CopyError;
use super::row::Chunk;
use super::table::Table;
use super::writer::RawWriter;
use crate::Store;
use crate::admin::installation_info::COPYING;
use crate::connect::{self, ConnectError};
use crate::either::Either;
use crate::location::Location;
use crate::sqlite::FileLock;

/// The stages of an unfinished copy: rows are missing, all rows were copied once and changes follow, or nobody goes on with it.
pub(super) const UNFINISHED: &str = "unfinished";
pub(super) const FOLLOWING: &str = "following";
pub(super) const CANCELLED: &str = "cancelled";

pub(super) struct Target<E> {
    pub store: Store<E>,
    writer: RawWriter,
    /// Keeps servers away.
    _lock: Option<FileLock>,
}

/// Keeps other commands that copy away from a database, until it is dropped. SQLite's file is locked as long as it is open.
///
/// A command that was killed is waited for: PostgreSQL notices in a moment.
pub(super) async fn lock(location: &Location) -> Result<Option<DatabaseTransaction>, CopyError> {
    let Location::Postgres { url } = location else { return Ok(None) };
    let database = connect::patient(url).await?;
    // Each node has locks of its own.
    connect::refuse_worker(&database).await?;
    let lock = database.begin().await?;
    let sql = "SELECT set_config('lock_timeout', '5s', true), set_config('idle_in_transaction_session_timeout', '0', true), \
               pg_advisory_xact_lock(hashtext('copied to ' || current_schema()))";
    match lock.execute_unprepared(sql).await {
        Ok(_) => Ok(Some(lock)),
        Err(error) if connect::answered(&error).as_deref() == Some(connect::LOCK_NOT_AVAILABLE) => {
            Err(CopyError::Busy)
        }
        Err(error) => Err(error.into()),
    }
}

impl<E> Target<E> {
    /// Opens the database, with its schema.
    pub async fn open(location: &Location) -> Result<Self, ConnectError> {
        let lock = location.lock()?;
        let store = Store::open_locked(location, lock.as_ref(), IdGenerator::default().into()).await?;
        let writer = RawWriter::new(&store)?;
        Ok(Self { store, writer, _lock: lock })
    }

    /// Marks the database as a copy that lacks rows.
    pub async fn begin(&self) -> Result<(), DbErr> {
        self.writer.set(COPYING, UNFINISHED).await
    }

    /// Marks that all rows were copied once, unless the copy was cancelled. Returns whether it was not.
    pub async fn follow(&self) -> Result<bool, DbErr> {
        self.writer.replace(COPYING, FOLLOWING, CANCELLED).await
    }

    /// Marks that rows are missing again, unless the copy was cancelled. Returns whether it was not.
    pub async fn lack_rows(&self) -> Result<bool, DbErr> {
        self.writer.replace(COPYING, UNFINISHED, CANCELLED).await
    }

    /// Lets servers start, unless the copy was cancelled. Returns whether it was not.
    pub async fn complete(&self) -> Result<bool, DbErr> {
        self.writer.remove(COPYING, CANCELLED).await
    }

    /// Cancels the copy, unless it is complete. Returns whether it was not.
    pub async fn cancel(&self) -> Result<bool, DbErr> {
        self.writer.replace(COPYING, CANCELLED, "").await
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
                let mut connection =
                    database.get_postgres_connection_pool().acquire().await.map_err(failed)?;
                copy_in(&mut connection, name, &columns, &chunk).await.map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Deletes the rows with these keys. Only a PostgreSQL follows a source.
    pub async fn delete(&self, table: &Table, keys: Chunk) -> Result<(), DbErr> {
        let Either::Postgres(database) = &self.writer else { return Ok(()) };
        if keys.rows.is_empty() {
            return Ok(());
        }
        let (name, key) = (&table.name, table.key_list());
        let deleted = async {
            let mut connection = database.get_postgres_connection_pool().begin().await?;
            let keys_table = format!(
                "CREATE TEMPORARY TABLE keys ON COMMIT DROP AS SELECT {key} FROM \"{name}\" WITH NO DATA"
            );
            sqlx::raw_sql(AssertSqlSafe(keys_table)).execute(&mut *connection).await?;
            copy_in(&mut connection, "keys", &key, &keys).await?;
            // A distributed table is joined with no table of the connection alone.
            let delete =
                format!("ANALYZE keys; DELETE FROM \"{name}\" WHERE ({key}) IN (SELECT {key} FROM keys)");
            sqlx::raw_sql(AssertSqlSafe(delete)).execute(&mut *connection).await?;
            connection.commit().await
        };
        deleted.await.map_err(failed)
    }
}

/// Sends rows by PostgreSQL's binary COPY.
async fn copy_in(
    connection: &mut PgConnection,
    table: &str,
    columns: &str,
    chunk: &Chunk,
) -> Result<(), sqlx::Error> {
    let sql = format!("COPY \"{table}\" ({columns}) FROM STDIN (FORMAT binary)");
    let mut copy = connection.copy_in_raw(&sql).await?;
    copy.send(chunk.encode()).await?;
    copy.finish().await.map(drop)
}

fn failed(error: sqlx::Error) -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(error.into()))
}
