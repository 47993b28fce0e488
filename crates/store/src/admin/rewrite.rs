//! Rewrites tables of PostgreSQL: until then their files hold the former contents of rows. SQLite overwrites what it deletes.

use sea_orm::{ConnectionTrait, DbErr};

use crate::connect::{self, ConnectError, answered};
use crate::location::Location;

/// SQLSTATE insufficient_privilege.
const NOT_PERMITTED: &str = "42501";

/// The result of a rewriting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewriting {
    /// The files hold present rows only.
    Complete,
    /// The tables are rewritten, but the former files stay until a checkpoint, for which the database's user has no right.
    NoCheckpoint,
    /// The database needs none.
    NotNeeded,
}

/// Rewrites tables and their indexes, one after the other, and removes the former files. Requests that need a table wait
/// meanwhile. Calls `on_table` after each.
pub async fn rewrite(
    location: &Location,
    tables: impl IntoIterator<Item = &'static str>,
    mut on_table: impl FnMut(&'static str),
) -> Result<Rewriting, ConnectError> {
    let Location::Postgres { url } = location else { return Ok(Rewriting::NotNeeded) };
    let database = connect::patient(url).await?;
    for table in tables {
        database.execute_unprepared(&format!("VACUUM (FULL) {table}")).await?;
        on_table(table);
    }
    let checkpoint = database.execute_unprepared("CHECKPOINT").await;
    database.close().await?;
    match checkpoint {
        Ok(_) => Ok(Rewriting::Complete),
        Err(error) if is_not_permitted(&error) => Ok(Rewriting::NoCheckpoint),
        Err(error) => Err(error.into()),
    }
}

fn is_not_permitted(error: &DbErr) -> bool {
    answered(error).as_deref() == Some(NOT_PERMITTED)
}
