//! What the steps of the schema send to a database, without one.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::FutureExt;
use migration::{MigrationTrait, SchemaManager};
use sea_orm::{Database, DbBackend, DbErr, ProxyDatabaseTrait, ProxyExecResult, ProxyRow, Statement};

/// A database that notes what is sent to it.
#[derive(Debug, Clone, Default)]
struct Recorder(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl ProxyDatabaseTrait for Recorder {
    async fn query(&self, statement: Statement) -> Result<Vec<ProxyRow>, DbErr> {
        panic!("a step asks: {}", statement.sql);
    }

    async fn execute(&self, statement: Statement) -> Result<ProxyExecResult, DbErr> {
        self.0.lock().unwrap().push(statement.sql);
        Ok(ProxyExecResult::default())
    }
}

/// Returns the SQL of a step, on PostgreSQL without the block around it.
pub fn sql_of(step: &dyn MigrationTrait, backend: DbBackend) -> String {
    let recorder = Recorder::default();
    let database = Database::connect_proxy(backend, Arc::new(Box::new(recorder.clone())));
    let database = database.now_or_never().unwrap().unwrap();
    step.up(&SchemaManager::new(&database)).now_or_never().unwrap().unwrap();
    let sent = std::mem::take(&mut *recorder.0.lock().unwrap());
    let [sql] = sent.try_into().unwrap();
    if backend == DbBackend::Sqlite {
        return sql;
    }
    let block = sql.strip_prefix("DO $step$ BEGIN ").unwrap();
    block.strip_suffix(" END $step$").unwrap().to_owned()
}
