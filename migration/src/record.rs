//! The record of the steps that have run, and the run of those that have not.

use sea_orm::{DatabaseConnection, DbBackend, Statement, TransactionTrait};
use sea_orm_migration::prelude::*;
use tracing::Dispatch;
use tracing::instrument::WithSubscriber;

/// The table that records which steps have run, and when: seconds since 1970.
pub const RECORD: &str = "seaql_migrations";

/// SQLite's integers are read by the types that columns are declared with, and the migrator would declare a narrow one.
const SQLITE_RECORD: &str = "CREATE TABLE IF NOT EXISTS seaql_migrations \
     (version VARCHAR NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)";

/// What goes before a step of PostgreSQL, which sends no notices. A step may run longer than a request. Servers that start at the same
/// time run it one after the other: all but the first find it done. It waits for a table only briefly, because behind it all who want
/// the table wait as well: then it fails, and may be run again. Longer than `deadlock_timeout`, after which it stops an autovacuum.
const BEFORE_STEP: &str = "SET LOCAL client_min_messages = warning; \
     SET LOCAL statement_timeout = 0; \
     SET LOCAL lock_timeout = 0; \
     SELECT pg_advisory_xact_lock(hashtext('migrated ' || current_schema())); \
     SET LOCAL lock_timeout = '2s'";

/// Returns the names of a migrator's steps, in order.
pub fn names<M: MigratorTrait>() -> Vec<String> {
    M::migrations().iter().map(|step| step.name().to_owned()).collect()
}

/// Returns the names of a migrator's steps that are not among the recorded ones, in order.
pub fn missing<M: MigratorTrait>(recorded: &[String]) -> Vec<String> {
    names::<M>().into_iter().filter(|name| !recorded.contains(name)).collect()
}

/// Returns the names of the steps that a database records, in order; none if it has no record.
pub async fn recorded(database: &impl ConnectionTrait) -> Result<Vec<String>, DbErr> {
    let backend = database.get_database_backend();
    let (tables, name) = if backend == DbBackend::Postgres {
        ("pg_tables WHERE schemaname = current_schema()", "tablename")
    } else {
        ("sqlite_master WHERE type = 'table'", "name")
    };
    let exists = format!("SELECT 1 AS n FROM {tables} AND {name} = '{RECORD}'");
    match database.query_one_raw(Statement::from_string(backend, exists)).await? {
        Some(_) => read_record(database).await,
        None => Ok(Vec::new()),
    }
}

/// Returns the names of the steps in a database's record, in order.
pub async fn read_record(database: &impl ConnectionTrait) -> Result<Vec<String>, DbErr> {
    let sql = format!("SELECT version FROM {RECORD} ORDER BY version");
    let steps = database.query_all_raw(Statement::from_string(database.get_database_backend(), sql)).await?;
    steps.iter().map(|step| step.try_get("", "version")).collect()
}

/// Runs the steps that a database lacks, each with its record as one transaction. After each one, calls `on_step` with its name
/// and the number of remaining ones. May be killed, and run twice.
pub async fn run<M: MigratorTrait>(
    database: &DatabaseConnection,
    on_step: &(dyn Fn(&str, usize) + Sync),
) -> Result<(), DbErr> {
    loop {
        let transaction = database.begin().await?;
        if database.get_database_backend() == DbBackend::Postgres {
            transaction.execute_unprepared(BEFORE_STEP).await?;
        } else {
            transaction.execute_unprepared(SQLITE_RECORD).await?;
        }
        let missing = missing::<M>(&recorded(&transaction).await?);
        if !missing.is_empty() {
            // The caller reports the steps, so the migrator logs nothing.
            M::up(&transaction, Some(1)).with_subscriber(Dispatch::none()).await?;
        }
        transaction.commit().await?;
        let Some((step, remaining)) = missing.split_first() else { return Ok(()) };
        on_step(step, remaining.len());
        if remaining.is_empty() {
            return Ok(());
        }
    }
}
