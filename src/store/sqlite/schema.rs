//! Migrates the schema, all migrations in one transaction: a new file is flushed once, and a server that is killed meanwhile
//! leaves the file as it was.

use migration::Step;
use sea_orm::DbErr;

use super::adapter::SqliteAdapter;
use super::writer::WriteConnection;

/// Runs the migrations that the file has not seen.
pub(in crate::store) async fn migrate(
    writing: &WriteConnection,
    steps: &[Step],
    on_step: &(dyn Fn(&str, usize) + Sync),
) -> Result<(), DbErr> {
    writing.execute("BEGIN IMMEDIATE")?;
    let done = migration::run(&SqliteAdapter(writing.clone()), steps, on_step).await;
    writing.execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    done
}
