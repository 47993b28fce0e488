//! Bringing the schema up to date, all steps in one transaction: a file that is new is flushed once, and a server that is
//! killed meanwhile leaves it as it was.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use migration::Migrator;
use sea_orm::{Database, DbBackend, DbErr, ProxyDatabaseTrait, ProxyExecResult, ProxyRow, Statement, Value};

use super::writer::WriteConnection;

/// Run the steps that the file has not seen.
pub(in crate::store) async fn migrate(
    writing: &WriteConnection,
    on_step: &(dyn Fn(&str, usize) + Sync),
) -> Result<(), DbErr> {
    let steps =
        Database::connect_proxy(DbBackend::Sqlite, Arc::new(Box::new(Steps(writing.clone())))).await?;
    writing.say("BEGIN IMMEDIATE")?;
    let done = Migrator::run(&steps, on_step).await;
    writing.say(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    done
}

/// The connection as the library of migrations wants it. The transactions that it believes in are ours.
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
            // Its own table declares as INTEGER what it reads as a wide one.
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
        self.0.connection().execute(&statement).map(Into::into)
    }
}
