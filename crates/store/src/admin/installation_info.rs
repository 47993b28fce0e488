//! The data of a database about its installation, read before anything is changed: a server that must not use it stops in time.

use std::collections::BTreeMap;

use sea_orm::{ConnectionTrait, DbBackend, DbErr, Statement};
use uuid::Uuid;
use vault::Wrapped;

use crate::admin::inspect::missing_and_unknown;
use crate::admin::integrity::is_corruption;
use crate::connect::{self, ConnectError};
use crate::location::Location;
use crate::sqlite;

/// The data of an installed database, of any release, about its installation. All is empty for an empty database.
#[derive(Debug, Default)]
pub struct InstallationInfo {
    /// The environment that the database belongs to.
    pub environment: Option<String>,
    /// The seed with which the database was begun, as
    /// [`RandomSource::fingerprint`](base::random::RandomSource::fingerprint) names it, and the number of starts since.
    pub seed: Option<String>,
    /// The keys of the vault, wrapped by the operator's key.
    pub keys: Vec<FoundKey>,
    /// The time as servers have noted it.
    pub clock: Option<String>,
    /// The stage of an unfinished copy of another database.
    pub copying: Option<String>,
    /// The database that the installation has moved to.
    pub moved_to: Option<String>,
}

/// The entry of the time that servers note.
pub const CLOCK: &str = "clock";
/// The entry of an unfinished copy: its stage.
pub(crate) const COPYING: &str = "copying";
/// The entry of a source whose changes are recorded: the database that they are copied to.
pub(crate) const FOLLOWED_BY: &str = "followed_by";
/// The entry of a source that is written no more: the database that it has moved to.
pub(crate) const MOVED_TO: &str = "moved_to";
/// What such a source says to a writer.
pub(crate) const MOVED: &str = "the installation has moved";
/// The beginning of the entry of an account whose rows a snapshot replaces in several commits.
pub const RESTORING: &str = "restoring ";
/// The entries of a copy, as SQL lists them: they are of a database and not of its installation.
pub(crate) const MARKS: &str = "'copying', 'followed_by', 'moved_to'";

/// A key of the vault.
#[derive(Debug)]
pub struct FoundKey {
    /// Its id in `vault_keys`.
    pub id: Uuid,
    /// `data`, or the purpose of a hash key.
    pub purpose: String,
    /// The key as an operator's key encrypts it.
    pub wrapped: Wrapped,
}

/// Reads the installation; changes nothing. Refuses an unfinished copy, and an installation that has moved.
pub async fn read_installation(location: &Location) -> Result<InstallationInfo, ConnectError> {
    let found = read_installation_to_copy(location).await?;
    match found.moved_to {
        Some(to) => Err(ConnectError::Moved(to)),
        None if found.copying.is_some() => Err(ConnectError::UnfinishedCopy),
        None => Ok(found),
    }
}

/// Reads the installation of a database that may be an unfinished copy or may have moved; changes nothing.
pub async fn read_installation_to_copy(location: &Location) -> Result<InstallationInfo, ConnectError> {
    match location {
        Location::Sqlite { path } => {
            connect::refuse_unusable(path)?;
            if !path.exists() {
                return Ok(InstallationInfo::default());
            }
            sqlite::refuse_other_name(path)?;
            match ours(&connect::connect_read_only(path)?).await {
                Err(ConnectError::Database(error)) if is_corruption(&error) => {
                    Err(ConnectError::Damaged(path.clone()))
                }
                found => found,
            }
        }
        Location::Postgres { url } => {
            let connection = connect::patient(url).await?;
            let found = ours(&connection).await;
            connection.close().await?;
            found
        }
    }
}

/// Reads the installation; refuses a schema of a later release.
async fn ours(connection: &impl ConnectionTrait) -> Result<InstallationInfo, ConnectError> {
    let found = found(connection).await?;
    let (_, unknown) = missing_and_unknown(connection).await?;
    if unknown.is_empty() { Ok(found) } else { Err(ConnectError::unknown(&unknown)) }
}

pub(crate) async fn found(connection: &impl ConnectionTrait) -> Result<InstallationInfo, ConnectError> {
    connect::refuse_foreign(connection).await?;
    if !is_installed(connection).await? {
        return Ok(InstallationInfo::default());
    }
    // Columns of the first migration, which every release has.
    let rows =
        connection.query_all_raw(statement(connection, "SELECT name, value FROM installation")).await?;
    let mut entries = BTreeMap::new();
    for row in rows {
        entries.insert(row.try_get::<String>("", "name")?, row.try_get::<String>("", "value")?);
    }
    let (environment, seed) = (entries.remove("environment"), entries.remove("seed"));
    let clock = entries.remove(CLOCK);
    let (copying, moved_to) = (entries.remove(COPYING), entries.remove(MOVED_TO));
    let keys = connection
        .query_all_raw(statement(connection, "SELECT id, purpose, wrapped_by, wrapped FROM vault_keys"));
    let keys = keys.await?.into_iter().map(|row| {
        let wrapped = Wrapped { by: row.try_get("", "wrapped_by")?, bytes: row.try_get("", "wrapped")? };
        Ok(FoundKey { id: row.try_get("", "id")?, purpose: row.try_get("", "purpose")?, wrapped })
    });
    let keys = keys.collect::<Result<_, DbErr>>()?;
    Ok(InstallationInfo { environment, seed, keys, clock, copying, moved_to })
}

/// Returns the value of an entry. The table is the first migration's, so every release has it.
pub(crate) async fn installation_entry(
    connection: &impl ConnectionTrait,
    name: &str,
) -> Result<Option<String>, DbErr> {
    let sql = format!("SELECT value FROM installation WHERE name = '{name}'");
    let row = connection.query_one_raw(statement(connection, &sql)).await?;
    row.map(|row| row.try_get("", "value")).transpose()
}

/// Returns whether the rows of an account are being replaced.
pub(crate) async fn is_restoring(connection: &impl ConnectionTrait) -> Result<bool, DbErr> {
    let sql = format!("SELECT 1 AS n FROM installation WHERE name LIKE '{RESTORING}%'");
    Ok(connection.query_one_raw(statement(connection, &sql)).await?.is_some())
}

/// Returns whether the first tables exist: a first migration that was killed may have left only its own record.
pub(crate) async fn is_installed(connection: &impl ConnectionTrait) -> Result<bool, DbErr> {
    has_tables(connection, &["installation".to_owned(), "vault_keys".to_owned()]).await
}

/// Returns whether all these tables exist.
pub(crate) async fn has_tables(connection: &impl ConnectionTrait, names: &[String]) -> Result<bool, DbErr> {
    let (tables, name) = if connection.get_database_backend() == DbBackend::Postgres {
        ("pg_tables WHERE schemaname = current_schema()", "tablename")
    } else {
        ("sqlite_master WHERE type = 'table'", "name")
    };
    let sql = format!("SELECT count(*) AS n FROM {tables} AND {name} IN ('{}')", names.join("', '"));
    let row = connection.query_one_raw(statement(connection, &sql)).await?;
    let found = row.map(|row| row.try_get::<i64>("", "n")).transpose()?.unwrap_or_default();
    Ok(usize::try_from(found) == Ok(names.len()))
}

pub(crate) fn statement(connection: &impl ConnectionTrait, sql: &str) -> Statement {
    Statement::from_string(connection.get_database_backend(), sql)
}
