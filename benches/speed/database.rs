//! The database under the server, asked beside it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use rusqlite::{Connection, OpenFlags};
use sea_orm::{ConnectOptions, ConnectionTrait, DatabaseConnection, DbBackend, Statement};

use super::{Result, usage};

/// Which database the server runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A file of the server's own.
    Sqlite,
    /// A server, with the settings that it comes with.
    Postgres,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// A way to ask the server's database.
pub enum Database {
    Sqlite(PathBuf),
    Postgres { admin: DatabaseConnection, url: String },
}

impl Database {
    pub async fn postgres(url: &str) -> Result<Self> {
        let mut options = ConnectOptions::new(url);
        options.max_connections(1).sqlx_logging(false).test_before_acquire(false);
        Ok(Self::Postgres { admin: sea_orm::Database::connect(options).await?, url: url.into() })
    }

    pub fn kind(&self) -> Kind {
        match self {
            Self::Sqlite(_) => Kind::Sqlite,
            Self::Postgres { .. } => Kind::Postgres,
        }
    }

    /// The rows of a query whose columns are all texts, or null.
    pub async fn rows(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        match self {
            Self::Sqlite(path) => {
                let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
                let mut statement = connection.prepare(sql)?;
                let columns = statement.column_count();
                let rows =
                    statement.query_map([], |row| (0..columns).map(|column| row.get(column)).collect())?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            }
            Self::Postgres { admin, .. } => {
                let statement = Statement::from_string(DbBackend::Postgres, sql);
                let rows = admin.query_all_raw(statement).await?;
                let row = |row: &sea_orm::QueryResult| {
                    (0..row.column_names().len()).map(|column| row.try_get_by_index(column)).collect()
                };
                Ok(rows.iter().map(row).collect::<std::result::Result<_, _>>()?)
            }
        }
    }

    async fn numbers(&self, sql: &str) -> Result<Vec<u64>> {
        let rows = self.rows(sql).await?.into_iter().flatten().flatten();
        rows.map(|number| Ok(number.parse()?)).collect()
    }

    /// Returns how many bytes it takes.
    pub async fn size(&self) -> Result<u64> {
        let sql = match self {
            Self::Sqlite(_) => {
                "SELECT CAST(page_count * page_size AS TEXT) FROM pragma_page_count, pragma_page_size"
            }
            Self::Postgres { .. } => "SELECT pg_database_size(current_database())::text",
        };
        Ok(self.numbers(sql).await?.into_iter().sum())
    }

    /// Returns how long processors have worked for each of the database's own processes; SQLite has none.
    pub async fn cpu(&self) -> Result<BTreeMap<u64, Duration>> {
        let Self::Postgres { .. } = self else { return Ok(BTreeMap::new()) };
        let pids =
            self.numbers("SELECT pid::text FROM pg_stat_activity WHERE pid <> pg_backend_pid()").await?;
        // One that has ended since is not to be found.
        Ok(pids
            .into_iter()
            .filter_map(|pid| Some((pid, usage::cpu(u32::try_from(pid).ok()?).ok()?)))
            .collect())
    }

    /// What locks its sessions wait for.
    pub async fn waiting(&self) -> Result<Vec<String>> {
        let Self::Postgres { .. } = self else { return Ok(vec![]) };
        let sql = "SELECT wait_event FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        Ok(self.rows(sql).await?.into_iter().flatten().flatten().collect())
    }

    /// An empty database beside it, where databases are made by a statement.
    pub async fn another(&self, name: &str) -> Result<Option<String>> {
        let Self::Postgres { admin, url } = self else { return Ok(None) };
        admin.execute_unprepared(&format!("CREATE DATABASE {name}")).await?;
        let mut url = url::Url::parse(url)?;
        url.set_path(name);
        Ok(Some(url.into()))
    }
}
