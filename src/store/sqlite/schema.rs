//! Migrates the schema, all migrations in one transaction: a new file is flushed once, and a server that is killed meanwhile
//! leaves the file as it was.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use migration::Migrator;
use sea_orm::{Database, DbBackend, DbErr, ProxyDatabaseTrait, ProxyExecResult, ProxyRow, Statement, Value};

use super::writer::WriteConnection;

/// Runs the migrations that the file has not seen.
pub(in crate::store) async fn migrate(
    writing: &WriteConnection,
    migrator: Migrator<'_>,
    on_step: &(dyn Fn(&str, usize) + Sync),
) -> Result<(), DbErr> {
    let steps =
        Database::connect_proxy(DbBackend::Sqlite, Arc::new(Box::new(Steps(writing.clone())))).await?;
    writing.say("BEGIN IMMEDIATE")?;
    let done = migrator.run(&steps, on_step).await;
    writing.say(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    done
}

/// Adapts the connection to the migration library. Its transactions are part of ours.
struct Steps(WriteConnection);

impl fmt::Debug for Steps {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Steps")
    }
}

#[async_trait]
impl ProxyDatabaseTrait for Steps {
    async fn query(&self, statement: Statement) -> Result<Vec<ProxyRow>, DbErr> {
        let mut all = Vec::new();
        self.0.connection().each(&statement, |mut row| {
            // The library declares columns of its own table as INTEGER and reads them as i64.
            for value in row.values.values_mut() {
                if let Value::Int(Some(n)) = *value {
                    *value = i64::from(n).into();
                }
            }
            all.push(row);
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }

    async fn execute(&self, statement: Statement) -> Result<ProxyExecResult, DbErr> {
        let connection = self.0.connection();
        // A step without values is a text of several statements.
        let done = match statement.values {
            None => connection.execute_all(&statement.sql),
            Some(_) => connection.execute(&statement),
        };
        done.map(Into::into)
    }
}
