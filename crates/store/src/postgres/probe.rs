//! The first connection to a PostgreSQL server: tells within seconds whether it answers and accepts our credentials.

use std::time::Duration;

use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection};
use sea_orm::sqlx::{self, Connection as _};
use sea_orm::{DbErr, RuntimeErr};
use tokio::time::{sleep, timeout};
use url::form_urlencoded::byte_serialize;

use crate::connect::ConnectError;

/// The time for retries with a server that refuses or is starting up.
const TIMEOUT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);
/// SQLSTATE cannot_connect_now: the server is starting up.
const STARTING: &str = "57P03";

/// Opens a connection and closes it again.
pub(crate) async fn probe(url: &str) -> Result<(), ConnectError> {
    let options: PgConnectOptions =
        url.parse().map_err(|error: sqlx::Error| DbErr::Conn(RuntimeErr::SqlxError(error.into())))?;
    let mut last = None;
    let attempts = async {
        loop {
            match PgConnection::connect_with(&options).await {
                Ok(connection) => return connection.close().await,
                Err(error) if is_transient(&error) => last = Some(error),
                Err(error) => return Err(error),
            }
            sleep(PAUSE).await;
        }
    };
    match timeout(TIMEOUT, attempts).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(connect_error(&options, &error)),
        Err(_) => Err(match last {
            Some(error) => connect_error(&options, &error),
            None => ConnectError::Unreachable(address(&options), "nothing was heard for 2 seconds".into()),
        }),
    }
}

/// Returns whether another attempt may succeed.
fn is_transient(error: &sqlx::Error) -> bool {
    if let sqlx::Error::Io(error) = error {
        return error.kind() == std::io::ErrorKind::ConnectionRefused;
    }
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some(STARTING))
}

fn connect_error(options: &PgConnectOptions, error: &sqlx::Error) -> ConnectError {
    if let sqlx::Error::Io(error) = error {
        return ConnectError::Unreachable(address(options), error.to_string());
    }
    match error.as_database_error() {
        Some(error) => ConnectError::Refused(address(options), error.message().to_owned()),
        None => ConnectError::Unreachable(address(options), error.to_string()),
    }
}

/// Returns a URL without user and password. It names the options, because one of them may choose a schema of the database.
pub(crate) fn display(url: &str) -> String {
    let Ok(options) = url.parse::<PgConnectOptions>() else { return "PostgreSQL".into() };
    let database = options.get_database().unwrap_or_default();
    let chosen = options.get_options().map(|chosen| byte_serialize(chosen.as_bytes()).collect::<String>());
    let chosen = chosen.map_or_else(String::new, |chosen| format!("?options={chosen}"));
    format!("postgres://{}/{database}{chosen}", address(&options))
}

/// Returns host and port, without user and password.
fn address(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(socket) => format!("{}:{}", socket.display(), options.get_port()),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}
