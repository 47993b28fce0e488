//! PostgreSQL: what the processes over one database tell each other. A message may get lost, and is no part of a transaction.

use sea_orm::sqlx::Executor;
use sea_orm::sqlx::postgres::{PgListener, PgPoolOptions};
use sea_orm::{ConnAcquireErr, ConnectionTrait, DbBackend, DbErr, RuntimeErr, Statement};

use serde_json::Value;

use super::pool::answers_within;
use crate::Store;
use crate::connect::{PING_TIMEOUT, TESTED_AFTER_IDLE};
use crate::either::Either;

const CHANNEL: &str = "card_payments";

const NOTIFY: &str = "SELECT pg_notify($1, message) FROM json_array_elements_text($2::json) AS message";

/// A node of a cluster notifies only the sessions of its own.
const NOTIFY_ALL_NODES: &str = "SELECT success FROM run_command_on_all_nodes(format( \
    'SELECT count(pg_notify(%L, message)::text) FROM json_array_elements_text(%L::json) AS message', $1::text, $2::text))";

/// The messages of all processes over one database, this one's as well.
pub struct Notifications(PgListener);

impl Notifications {
    /// Returns the next message; `None` if some may have been lost, because it had to connect again.
    pub async fn next(&mut self) -> Result<Option<String>, DbErr> {
        loop {
            if let Ok(message) = tokio::time::timeout(TESTED_AFTER_IDLE, self.0.try_recv()).await {
                return Ok(message.map_err(failed)?.map(|message| message.payload().to_owned()));
            }
            // A connection that sends nothing never notices that the database has vanished.
            if !answers_within(PING_TIMEOUT, self.0.execute("SELECT 1")).await {
                return Err(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed));
            }
        }
    }
}

impl<E> Store<E> {
    /// Listens, on a connection of its own; `None` on SQLite, which has one process.
    pub async fn listen(&self) -> Result<Option<Notifications>, DbErr> {
        let Either::Postgres(connections) = self.reader.inner() else { return Ok(None) };
        let options = connections.pool().get_postgres_connection_pool().connect_options();
        let own =
            PgPoolOptions::new().max_connections(1).connect_with((*options).clone()).await.map_err(failed)?;
        let mut listener = PgListener::connect_with(&own).await.map_err(failed)?;
        listener.listen(CHANNEL).await.map_err(failed)?;
        Ok(Some(Notifications(listener)))
    }

    /// Sends messages, on PostgreSQL.
    pub async fn notify(&self, messages: &[String]) -> Result<(), DbErr> {
        if self.backend() == DbBackend::Postgres {
            let values = [CHANNEL.into(), Value::from(messages).to_string().into()];
            let notify = if self.is_distributed() { NOTIFY_ALL_NODES } else { NOTIFY };
            let notify = Statement::from_sql_and_values(DbBackend::Postgres, notify, values);
            self.reader.query_all_raw(notify).await?;
        }
        Ok(())
    }
}

fn failed(error: sea_orm::sqlx::Error) -> DbErr {
    DbErr::Conn(RuntimeErr::SqlxError(error.into()))
}
