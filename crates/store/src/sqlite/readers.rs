//! SQLite's readers. A statement first runs on the caller's thread, a worker of the runtime: most statements end before
//! another thread would have started. A long one is interrupted and run again on a blocking thread, with a connection of
//! its own, so that it does not delay short statements.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use base::mutex::lock;
use sea_orm::error::ConnAcquireErr;
use sea_orm::{DbErr, Statement};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::adapter::{StatementRunner, run_blocking};
use super::connection::{Connection, Run};
use super::file::DatabaseFile;

/// The connections of each pool. Two cores read about as fast with four as with more.
const CONNECTIONS_MAX: usize = 4;
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

/// Read connections, each opened on first use.
pub struct Readers {
    quick: Arc<Pool>,
    patient: Arc<Pool>,
}

impl Readers {
    pub(crate) fn new(file: &Arc<DatabaseFile>) -> Self {
        let pool = || Arc::new(Pool::new(Arc::clone(file)));
        Self { quick: pool(), patient: pool() }
    }

    /// Returns the numbers of open and of idle connections.
    pub(crate) fn connections(&self) -> (usize, usize) {
        let (quick, patient) = (self.quick.connections(), self.patient.connections());
        (quick.0 + patient.0, quick.1 + patient.1)
    }

    /// Copies the log into the file and empties it. Returns false, after a short wait, while a reader needs the log or another
    /// connection writes; payments wait as long.
    pub(crate) async fn empty_log(&self) -> Result<bool, DbErr> {
        let _permit = self.patient.permit().await?;
        let pool = Arc::clone(&self.patient);
        run_blocking(move || pool.lend(Connection::empty_log)).await
    }

    pub(crate) fn file(&self) -> &Arc<DatabaseFile> {
        &self.quick.file
    }
}

impl StatementRunner for Readers {
    async fn run<T: Send + 'static>(&self, statement: Statement, run: Run<T>) -> Result<T, DbErr> {
        if !is_word_search(&statement) {
            let _permit = self.quick.permit().await?;
            if let Some(done) = self.quick.lend(|connection| connection.run_bounded(&statement, run))? {
                return Ok(done);
            }
        }
        let permit = self.patient.permit().await?;
        let pool = Arc::clone(&self.patient);
        run_blocking(move || {
            let _permit = permit;
            pool.lend(|connection| run(connection, &statement))
        })
        .await
    }
}

/// Returns whether a statement searches the full-text index, which works long without executing an instruction, so that the
/// bound on instructions does not interrupt it.
fn is_word_search(statement: &Statement) -> bool {
    statement.sql.contains(" MATCH ")
}

struct Pool {
    file: Arc<DatabaseFile>,
    /// Permits for connections, first come, first served.
    permits: Arc<Semaphore>,
    /// A stack: the connection used last is used next, as its pages are cached.
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    fn new(file: Arc<DatabaseFile>) -> Self {
        Self { file, permits: Arc::new(Semaphore::new(CONNECTIONS_MAX)), idle: Mutex::default() }
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, DbErr> {
        let permit = timeout(ACQUIRE_TIMEOUT, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))?;
        permit.map_err(|_| DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed))
    }

    /// Runs work on a connection; the caller has a permit.
    fn lend<T>(&self, work: impl FnOnce(&Connection) -> Result<T, DbErr>) -> Result<T, DbErr> {
        let idle = self.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => Connection::open(&self.file).inspect_err(|error| self.file.note_fault(error))?,
        };
        let done = work(&connection);
        self.idle().push(connection);
        done
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        lock(&self.idle)
    }

    fn connections(&self) -> (usize, usize) {
        let (idle, in_use) = (self.idle().len(), CONNECTIONS_MAX - self.permits.available_permits());
        (idle + in_use, idle)
    }
}
