//! Migrates the schema, all migrations in one transaction: a new file is flushed once, and a server that is killed meanwhile
//! leaves the file as it was.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use migration::MigratorTrait;
use sea_orm::{Database, DbBackend, DbErr, ProxyDatabaseTrait, ProxyExecResult, ProxyRow, Statement};

use super::adapter::SqliteAdapter;
use super::writer::WriteConnection;

/// Runs the migrations that the file has not seen.
pub(crate) async fn migrate<M: MigratorTrait>(
    writing: &WriteConnection,
    on_step: &(dyn Fn(&str, usize) + Sync),
) -> Result<(), DbErr> {
    writing.execute("BEGIN IMMEDIATE")?;
    let done = run::<M>(writing, on_step).await;
    writing.execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    done
}

async fn run<M: MigratorTrait>(
    writing: &WriteConnection,
    on_step: &(dyn Fn(&str, usize) + Sync),
) -> Result<(), DbErr> {
    let recorded = migration::recorded(&SqliteAdapter(writing.clone())).await?;
    if migration::missing::<M>(&recorded).is_empty() {
        return Ok(());
    }
    let connection = MigratorConnection(writing.clone());
    let database = Database::connect_proxy(DbBackend::Sqlite, Arc::new(Box::new(connection))).await?;
    migration::run::<M>(&database, on_step).await
}

/// The write connection as a proxy for sea-orm's migrator. The migrator's transactions are parts of the one around it.
struct MigratorConnection(WriteConnection);

impl fmt::Debug for MigratorConnection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MigratorConnection").finish_non_exhaustive()
    }
}

#[async_trait]
impl ProxyDatabaseTrait for MigratorConnection {
    async fn query(&self, statement: Statement) -> Result<Vec<ProxyRow>, DbErr> {
        let mut rows = Vec::new();
        self.0.connection().each(&statement, |row| {
            rows.push(row);
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    async fn execute(&self, statement: Statement) -> Result<ProxyExecResult, DbErr> {
        let connection = self.0.connection();
        // A text without values may be several statements.
        let done = match statement.values {
            Some(_) => connection.execute(&statement)?,
            None => connection.execute_all(&statement.sql)?,
        };
        Ok(ProxyExecResult::new(0, done.rows_affected()))
    }
}
