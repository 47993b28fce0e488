//! The first contact with a PostgreSQL: whether anybody answers there, and lets us in.

use std::time::Duration;

use sea_orm::sqlx::postgres::{PgConnectOptions, PgConnection};
use sea_orm::sqlx::{self, Connection as _};
use sea_orm::{DbErr, RuntimeErr};
use tokio::time::{sleep, timeout};

use super::connect::ConnectError;

/// For how long somebody is waited for: whoever is being started may come up meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(100);
/// What a server answers that is not ready yet (cannot_connect_now).
const STARTING: &str = "57P03";

/// Come in by a connection of its own, and go.
pub(super) async fn knock(url: &str) -> Result<(), ConnectError> {
    let options: PgConnectOptions =
        url.parse().map_err(|error: sqlx::Error| DbErr::Conn(RuntimeErr::SqlxError(error.into())))?;
    let mut last = None;
    let knocking = async {
        loop {
            match PgConnection::connect_with(&options).await {
                Ok(connection) => return connection.close().await,
                Err(error) if passes(&error) => last = Some(error),
                Err(error) => return Err(error),
            }
            sleep(PAUSE).await;
        }
    };
    match timeout(PATIENCE, knocking).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(said(&options, &error)),
        Err(_) => Err(match last {
            Some(error) => said(&options, &error),
            None => ConnectError::Silent(address(&options), "nothing was heard for 2 seconds".into()),
        }),
    }
}

/// Whether it may be another moment.
fn passes(error: &sqlx::Error) -> bool {
    if let sqlx::Error::Io(error) = error {
        return error.kind() == std::io::ErrorKind::ConnectionRefused;
    }
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some(STARTING))
}

fn said(options: &PgConnectOptions, error: &sqlx::Error) -> ConnectError {
    if let sqlx::Error::Io(error) = error {
        return ConnectError::Silent(address(options), error.to_string());
    }
    match error.as_database_error() {
        Some(error) => ConnectError::Refused(address(options), error.message().to_owned()),
        None => ConnectError::Silent(address(options), error.to_string()),
    }
}

/// Where it is looked for; no user, no password.
fn address(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(socket) => format!("{}:{}", socket.display(), options.get_port()),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}
