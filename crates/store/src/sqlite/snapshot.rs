//! A long read of the whole database, as it was at one moment.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard};

use base::mutex::lock;
use futures::stream::{self, BoxStream, StreamExt};
use sea_orm::{DbErr, QueryResult, Statement};
use tokio::sync::mpsc;

use super::adapter::{SqliteAdapter, StatementRunner, run_blocking};
use super::connection::{Connection, Run};
use super::readers::Readers;

/// The rows read ahead of the consumer.
const ROWS_AHEAD_MAX: usize = 64;

/// A connection of its own in a read transaction.
#[derive(Clone)]
pub struct ReadSnapshot(Arc<Mutex<Connection>>);

impl ReadSnapshot {
    /// Begins a read transaction that sees what `readers` would see now.
    pub(crate) async fn at(readers: &Readers) -> Result<SqliteAdapter<Self>, DbErr> {
        let file = Arc::clone(readers.file());
        run_blocking(move || {
            let connection = Connection::open(&file)?;
            // Requests sort little, in memory; a read of everything sorts on the disk, and each of its sorts takes as much memory
            // before as the cache. What it has read it seldom reads again.
            connection.execute_all("PRAGMA temp_store = FILE; PRAGMA cache_size = -4096; BEGIN")?;
            Ok(SqliteAdapter(Self(Arc::new(Mutex::new(connection)))))
        })
        .await
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        lock(&self.0)
    }

    /// Returns a statement's rows, read on a thread that blocks while the consumer does not take them.
    pub(crate) fn stream(&self, statement: Statement) -> BoxStream<'_, Result<QueryResult, DbErr>> {
        let (rows, taken) = mpsc::channel(ROWS_AHEAD_MAX);
        let snapshot = self.clone();
        let reading = run_blocking(move || {
            snapshot.connection().each(&statement, |row| match rows.blocking_send(row.into()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            })
        });
        let rows = stream::unfold(taken, async |mut taken| Some((Ok(taken.recv().await?), taken)));
        // An error comes after the last row.
        let end = stream::once(reading).filter_map(async |end| end.err().map(Err));
        rows.chain(end).boxed()
    }
}

impl StatementRunner for ReadSnapshot {
    async fn run<T: Send + 'static>(&self, statement: Statement, run: Run<T>) -> Result<T, DbErr> {
        let snapshot = self.clone();
        run_blocking(move || run(&snapshot.connection(), &statement)).await
    }
}
