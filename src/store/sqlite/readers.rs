//! SQLite's readers. What is asked is tried at once, on the caller's thread, which is a worker of the runtime: most
//! statements are done before another thread would have begun. What turns out to be long is given up
//! and run anew on a thread that may wait, and on a connection of its own, so that it holds up nobody who asks for little.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sea_orm::error::ConnAcquireErr;
use sea_orm::{DbErr, Statement};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::adapter::{StatementRunner, aside};
use super::connection::{Connection, Run};
use super::file::DatabaseFile;

/// Of each kind. Two cores read about as fast with four as with more.
const CONNECTIONS_MAX: usize = 4;
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections that read. Each opens the file when it is needed.
pub struct Readers {
    quick: Arc<Pool>,
    patient: Arc<Pool>,
}

impl Readers {
    pub(in crate::store) fn new(file: &Arc<DatabaseFile>) -> Self {
        let pool = || Arc::new(Pool::new(Arc::clone(file)));
        Self { quick: pool(), patient: pool() }
    }

    /// How many are open, and how many of these are idle.
    pub(in crate::store) fn connections(&self) -> (usize, usize) {
        let (quick, patient) = (self.quick.connections(), self.patient.connections());
        (quick.0 + patient.0, quick.1 + patient.1)
    }

    /// The file.
    pub(in crate::store) fn file(&self) -> &Arc<DatabaseFile> {
        &self.quick.file
    }
}

impl StatementRunner for Readers {
    async fn run<T: Send + 'static>(&self, statement: Statement, run: Run<T>) -> Result<T, DbErr> {
        if !looks_for_words(&statement) {
            let _place = self.quick.place().await?;
            if let Some(done) = self.quick.lend(|connection| connection.run_bounded(&statement, run))? {
                return Ok(done);
            }
        }
        let place = self.patient.place().await?;
        let pool = Arc::clone(&self.patient);
        aside(move || {
            let _place = place;
            pool.lend(|connection| run(connection, &statement))
        })
        .await
    }
}

/// The index of words works long without running an instruction, so nobody would notice.
fn looks_for_words(statement: &Statement) -> bool {
    statement.sql.contains(" MATCH ")
}

struct Pool {
    file: Arc<DatabaseFile>,
    /// Who comes first is first.
    places: Arc<Semaphore>,
    /// The one that was used last is used next: its pages are at hand.
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    fn new(file: Arc<DatabaseFile>) -> Self {
        Self { file, places: Arc::new(Semaphore::new(CONNECTIONS_MAX)), idle: Mutex::default() }
    }

    async fn place(&self) -> Result<OwnedSemaphorePermit, DbErr> {
        let place = timeout(ACQUIRE_TIMEOUT, Arc::clone(&self.places).acquire_owned()).await;
        let place = place.map_err(|_| DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))?;
        place.map_err(|_| DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed))
    }

    /// Work on a connection, for whoever has a place.
    fn lend<T>(&self, work: impl FnOnce(&Connection) -> Result<T, DbErr>) -> Result<T, DbErr> {
        let idle = self.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => Connection::open(&self.file)?,
        };
        let done = work(&connection);
        self.idle().push(connection);
        done
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> (usize, usize) {
        let (idle, in_use) = (self.idle().len(), CONNECTIONS_MAX - self.places.available_permits());
        (idle + in_use, idle)
    }
}
