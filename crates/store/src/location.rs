//! The location of a database.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sea_orm::sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::connect::ConnectError;
use crate::postgres::probe;
use crate::sqlite::FileLock;

/// The location of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A SQLite file.
    Sqlite {
        /// The path of the file.
        path: PathBuf,
    },
    /// A PostgreSQL server.
    Postgres {
        /// Its URL, with credentials: never printed.
        url: String,
    },
}

impl FromStr for Location {
    type Err = ConnectError;

    fn from_str(url: &str) -> Result<Self, ConnectError> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Postgres { url: url.into() });
        }
        let path = url.strip_prefix("sqlite:").ok_or(ConnectError::Scheme)?;
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() || path == ":memory:" {
            return Err(ConnectError::NoName);
        }
        Ok(Self::Sqlite { path: path.into() })
    }
}

impl Location {
    /// Returns the database at a URL, or else the file in the data directory, which has the directory's very name: a URL could not
    /// always hold it.
    pub fn new(url: Option<&str>, data_dir: &Path) -> Result<Self, ConnectError> {
        match url {
            Some(url) => url.parse(),
            None => Ok(Self::Sqlite { path: data_dir.join("card-payments.db") }),
        }
    }

    /// Returns the database as people are told of it: without user and password.
    pub fn display(&self) -> String {
        match self {
            Self::Sqlite { path } => path.display().to_string(),
            Self::Postgres { url } => probe::display(url),
        }
    }

    /// Returns whether nobody can stand in the server's place: its certificate is verified, or it is on this machine.
    pub fn is_server_verified(&self) -> bool {
        let Self::Postgres { url } = self else { return true };
        let Ok(options) = url.parse::<PgConnectOptions>() else { return false };
        let host = options.get_host().trim_matches(['[', ']']);
        let is_here = host.starts_with('/')
            || host == "localhost"
            || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        is_here
            || options.get_socket().is_some()
            || matches!(options.get_ssl_mode(), PgSslMode::VerifyCa | PgSslMode::VerifyFull)
    }

    /// Refuses a SQLite file that does not exist.
    pub fn refuse_missing(&self) -> Result<(), ConnectError> {
        match self {
            Self::Sqlite { path } if !path.exists() => Err(ConnectError::Missing(path.clone())),
            Self::Sqlite { .. } | Self::Postgres { .. } => Ok(()),
        }
    }

    /// Locks a SQLite file: one server per file, whatever its names.
    pub fn lock(&self) -> Result<Option<FileLock>, ConnectError> {
        match self {
            Self::Sqlite { path } => FileLock::take(path).map(Some),
            Self::Postgres { .. } => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_verified_by_its_certificate_or_is_on_this_machine() {
        for (url, verified) in [
            ("postgres://payments@db/payments", false),
            ("postgres://payments@db/payments?sslmode=require", false),
            ("postgres://payments@db/payments?sslmode=verify-full", true),
            ("postgres://payments@db/payments?sslmode=verify-ca", true),
            ("postgres://payments@127.0.0.1:5433/payments", true),
            ("postgres://payments@[::1]:5433/payments", true),
            ("postgres://payments@localhost/payments", true),
            ("postgres://payments@%2Fvar%2Frun%2Fpostgresql/payments", true),
            ("sqlite:payments.db", true),
        ] {
            assert_eq!(url.parse::<Location>().unwrap().is_server_verified(), verified, "{url}");
        }
    }

    #[test]
    fn a_database_in_memory_is_refused_as_one_without_a_file() {
        for url in ["sqlite:", "sqlite://", "sqlite::memory:", "sqlite://:memory:"] {
            assert!(matches!(url.parse::<Location>(), Err(ConnectError::NoName)), "{url}");
        }
    }
}
