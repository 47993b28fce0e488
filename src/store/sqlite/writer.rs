//! SQLite's one writer. It takes what waits, runs it in one transaction, commits once and answers all, so
//! that sixteen payments share one flush of the disk.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use sea_orm::{DbBackend, DbErr, Statement};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::adapter::StatementRunner;
use super::connection::{Connection, Run};
use super::file::{DatabaseFile, away};
use crate::error::{Error, ErrorCode};
use crate::limits::BATCH_UNITS_MAX;
use crate::store::open_transaction::CommitError;
use crate::store::tx::{TransactionFactory, Tx};
use crate::store::unit::{UnitOfWork, UnitResult, in_doubt, uncommitted};

/// The connection that writes.
#[derive(Clone)]
pub struct WriteConnection(Arc<Mutex<Connection>>);

impl WriteConnection {
    pub(in crate::store) fn on(connection: Connection) -> Self {
        Self(Arc::new(Mutex::new(connection)))
    }

    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Run a statement that takes no values, such as those around transactions.
    pub(in crate::store) fn say(&self, sql: &str) -> Result<(), DbErr> {
        self.connection().execute(&Statement::from_string(DbBackend::Sqlite, sql)).map(drop)
    }
}

impl StatementRunner for WriteConnection {
    /// At once: whoever writes is on the writer's thread.
    async fn run<T: Send + 'static>(&self, statement: Statement, run: Run<T>) -> Result<T, DbErr> {
        run(&self.connection(), &statement)
    }
}

/// A unit, what it answered when it ran last, and the caller who waits for that.
struct QueuedUnit {
    unit: UnitOfWork,
    answer: Option<UnitResult>,
    caller: oneshot::Sender<UnitResult>,
}

/// How a run of a unit ended.
enum RunOutcome {
    /// It is done and may be committed.
    Done,
    /// It refused.
    Refused,
    /// The database failed it, or it panicked: what it wrote must go.
    Failed,
}

impl QueuedUnit {
    async fn run(&mut self, tx: &Tx) -> RunOutcome {
        let answer = self.answer.insert(self.unit.run(tx).await);
        match answer {
            Ok(_) => RunOutcome::Done,
            Err(Error::Refused(_) | Error::Invalid(_)) => RunOutcome::Refused,
            Err(Error::Database(_) | Error::Vault(_) | Error::Internal(_)) => RunOutcome::Failed,
        }
    }

    /// Tell the caller what the last run said.
    fn tell(self) {
        let answer = self.answer.unwrap_or_else(|| Err(Error::internal("a unit was answered before it ran")));
        // A caller that went away needs no answer.
        let _ = self.caller.send(answer);
    }

    /// Tell the caller that nothing came of it.
    fn fail(self, error: Error) {
        let _ = self.caller.send(Err(error));
    }
}

type Batch = Vec<QueuedUnit>;

pub(in crate::store) struct Writer {
    // Before the thread: it ends when nobody can send any more.
    units: mpsc::Sender<QueuedUnit>,
    _thread: Joined,
}

/// A thread that is waited for. Without, the process may end while the file is being closed, which leaves its log behind.
struct Joined(Option<JoinHandle<()>>);

impl Drop for Joined {
    fn drop(&mut self) {
        // How it ended was told to those whose units it ran.
        let _ = self.0.take().map(JoinHandle::join);
    }
}

impl Writer {
    /// Start the thread that writes. Units are asynchronous, but what they wait for on SQLite is done when they ask for
    /// it: a batch is one way to the thread and one back, however many statements it has.
    pub fn start(begin: TransactionFactory, file: Arc<DatabaseFile>) -> std::io::Result<Self> {
        let (units, mut waiting) = mpsc::channel::<QueuedUnit>(4 * BATCH_UNITS_MAX);
        let runtime = Handle::current();
        let write_all = async move {
            let mut batch = Batch::with_capacity(BATCH_UNITS_MAX);
            // No timer: an idle queue commits at once.
            while waiting.recv_many(&mut batch, BATCH_UNITS_MAX).await > 0 {
                let batch = std::mem::take(&mut batch);
                if file.is_in_place() {
                    write(&begin, batch).await;
                } else {
                    for unit in batch {
                        unit.fail(away().into());
                    }
                }
            }
        };
        let named = thread::Builder::new().name("sqlite-writer".into());
        let thread = named.spawn(move || runtime.block_on(write_all))?;
        Ok(Self { units, _thread: Joined(Some(thread)) })
    }

    /// How many units wait.
    pub fn queue(&self) -> usize {
        self.units.max_capacity() - self.units.capacity()
    }

    pub async fn run(&self, unit: UnitOfWork) -> UnitResult {
        let (caller, told) = oneshot::channel();
        let waiting = QueuedUnit { unit, answer: None, caller };
        self.units.send(waiting).await.map_err(|_| ErrorCode::ServiceUnavailable)?;
        told.await.unwrap_or_else(|_| Err(ErrorCode::ServiceUnavailable.into()))
    }
}

/// Write a batch. Where one unit spoils it, the batch is rolled back and its units run one by one.
async fn write(begin: &TransactionFactory, mut batch: Batch) {
    if batch.len() == 1 {
        return singly(begin, batch).await;
    }
    let tx = begin.tx();
    for unit in &mut batch {
        match unit.run(&tx).await {
            RunOutcome::Done => tx.keep_unit(),
            RunOutcome::Refused if tx.drop_unit() => {}
            RunOutcome::Refused | RunOutcome::Failed => {
                tracing::debug!(units = batch.len(), "a batch is run again, one by one");
                tx.rollback().await;
                return singly(begin, batch).await;
            }
        }
    }
    match tx.commit().await {
        Ok(()) => batch.into_iter().for_each(QueuedUnit::tell),
        Err(CommitError::Failed(error)) => {
            tracing::debug!(units = batch.len(), %error, "a batch is run again, one by one");
            singly(begin, batch).await;
        }
        // A refusal may rest on a neighbour's write, so it is in doubt as well.
        Err(CommitError::InDoubt(error)) => batch.into_iter().for_each(|unit| unit.fail(in_doubt(&error))),
    }
}

async fn singly(begin: &TransactionFactory, batch: Batch) {
    for mut unit in batch {
        let tx = begin.tx();
        match unit.run(&tx).await {
            RunOutcome::Done => {
                tx.keep_unit();
                match tx.commit().await {
                    Ok(()) => unit.tell(),
                    Err(CommitError::Failed(error)) => unit.fail(uncommitted(error)),
                    Err(CommitError::InDoubt(error)) => unit.fail(in_doubt(&error)),
                }
            }
            RunOutcome::Refused | RunOutcome::Failed => {
                tx.rollback().await;
                unit.tell();
            }
        }
    }
}
