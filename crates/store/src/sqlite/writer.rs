//! SQLite's single writer. It takes the queued units, runs them in one transaction, commits once and answers all callers, so
//! that sixteen payments share one flush of the disk.

use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use base::mutex::lock;
use sea_orm::{DbBackend, DbErr, Statement};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::adapter::StatementRunner;
use super::connection::{Connection, Run};
use super::file::DatabaseFile;
use crate::error::StoreError;
use crate::limits::BATCH_UNITS_MAX;
use crate::unit::open_transaction::CommitError;
use crate::unit::tx::{TransactionFactory, Tx};
use crate::unit::{UnitOfWork, UnitResult, in_doubt};

#[derive(Clone)]
pub struct WriteConnection(Arc<Mutex<Connection>>);

impl WriteConnection {
    pub(crate) fn on(connection: Connection) -> Self {
        Self(Arc::new(Mutex::new(connection)))
    }

    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        lock(&self.0)
    }

    /// Runs a statement without values, such as BEGIN and COMMIT.
    pub(crate) fn execute(&self, sql: &str) -> Result<(), DbErr> {
        self.connection().execute(&Statement::from_string(DbBackend::Sqlite, sql)).map(drop)
    }
}

impl StatementRunner for WriteConnection {
    /// Runs at once: every write is on the writer's thread.
    async fn run<T: Send + 'static>(&self, statement: Statement, run: Run<T>) -> Result<T, DbErr> {
        run(&self.connection(), &statement)
    }
}

/// A unit, the result of its last run, and the caller who waits for it.
struct QueuedUnit {
    unit: UnitOfWork,
    answer: Option<UnitResult>,
    caller: oneshot::Sender<UnitResult>,
}

enum RunOutcome {
    /// The unit succeeded and may be committed.
    Done,
    /// The unit was refused.
    Refused,
    /// The database failed or the unit panicked: its writes must be rolled back.
    Failed,
}

impl QueuedUnit {
    async fn run(&mut self, tx: &Tx) -> RunOutcome {
        let answer = self.answer.insert(self.unit.run(tx).await);
        match answer {
            Ok(_) => RunOutcome::Done,
            Err(StoreError::Refused(_) | StoreError::Unavailable) => RunOutcome::Refused,
            Err(StoreError::Database(_) | StoreError::Failed(_) | StoreError::Internal(_)) => {
                RunOutcome::Failed
            }
        }
    }

    /// Sends the result of the last run to the caller.
    fn reply(self) {
        let answer =
            self.answer.unwrap_or_else(|| Err(StoreError::Internal("a unit was answered before it ran")));
        // The send fails if the caller has gone.
        let _ = self.caller.send(answer);
    }

    /// Tells the caller why nothing may be written.
    fn refuse(self, file: &DatabaseFile) {
        self.fail(file.refusal().map_or(StoreError::Unavailable, StoreError::Database));
    }

    /// Sends an error to the caller in place of the result.
    fn fail(self, error: StoreError) {
        let _ = self.caller.send(Err(error));
    }
}

type Batch = Vec<QueuedUnit>;

pub(crate) struct Writer {
    // Dropped before the thread, which ends when the last sender is gone.
    units: mpsc::Sender<QueuedUnit>,
    _thread: Joined,
}

/// A thread that is joined on drop. Otherwise the process might end while the file is being closed, which leaves its log behind.
struct Joined(Option<JoinHandle<()>>);

impl Drop for Joined {
    fn drop(&mut self) {
        // The callers whose units it ran already know how it ended.
        let _ = self.0.take().map(JoinHandle::join);
    }
}

impl Writer {
    /// Starts the writer thread. Units are asynchronous, but on SQLite their statements complete at once: a batch costs one
    /// hand-over to the thread and one back, however many statements it has.
    pub fn start(factory: TransactionFactory, file: Arc<DatabaseFile>) -> std::io::Result<Self> {
        let (units, mut waiting) = mpsc::channel::<QueuedUnit>(4 * BATCH_UNITS_MAX);
        let runtime = Handle::current();
        let write_all = async move {
            let mut batch = Batch::with_capacity(BATCH_UNITS_MAX);
            // No timer: an idle queue commits at once.
            while waiting.recv_many(&mut batch, BATCH_UNITS_MAX).await > 0 {
                let batch = std::mem::take(&mut batch);
                if file.is_writable() {
                    write(&factory, &file, batch).await;
                } else {
                    for unit in batch {
                        unit.refuse(&file);
                    }
                }
            }
        };
        let named = thread::Builder::new().name("sqlite-writer".into());
        let thread = named.spawn(move || runtime.block_on(write_all))?;
        Ok(Self { units, _thread: Joined(Some(thread)) })
    }

    /// Returns the number of queued units.
    pub fn queue(&self) -> usize {
        self.units.max_capacity() - self.units.capacity()
    }

    pub async fn run(&self, unit: UnitOfWork) -> UnitResult {
        let (caller, result) = oneshot::channel();
        let waiting = QueuedUnit { unit, answer: None, caller };
        self.units.send(waiting).await.map_err(|_| StoreError::Unavailable)?;
        result.await.unwrap_or_else(|_| Err(StoreError::Unavailable))
    }
}

/// Writes a batch. If one unit spoils it, rolls the batch back and runs its units one by one.
async fn write(factory: &TransactionFactory, file: &DatabaseFile, mut batch: Batch) {
    if batch.len() == 1 {
        return singly(factory, file, batch).await;
    }
    let tx = factory.tx();
    for unit in &mut batch {
        match unit.run(&tx).await {
            RunOutcome::Done => tx.keep_unit(),
            RunOutcome::Refused if tx.drop_unit() => {}
            RunOutcome::Refused | RunOutcome::Failed => {
                tracing::debug!(units = batch.len(), "a batch runs again, one unit at a time");
                tx.rollback().await;
                return singly(factory, file, batch).await;
            }
        }
    }
    match tx.commit().await {
        Ok(()) => batch.into_iter().for_each(QueuedUnit::reply),
        Err(CommitError::Failed(error)) => {
            tracing::debug!(units = batch.len(), %error, "a batch runs again, one unit at a time");
            singly(factory, file, batch).await;
        }
        // A refusal may rest on another unit's write, so it is in doubt as well.
        Err(CommitError::InDoubt(error)) => batch.into_iter().for_each(|unit| unit.fail(in_doubt(&error))),
    }
}

async fn singly(factory: &TransactionFactory, file: &DatabaseFile, batch: Batch) {
    for mut unit in batch {
        // A unit before it may have met the damage.
        if file.is_damaged() {
            unit.refuse(file);
            continue;
        }
        let tx = factory.tx();
        match unit.run(&tx).await {
            RunOutcome::Done => {
                tx.keep_unit();
                match tx.commit().await {
                    Ok(()) => unit.reply(),
                    Err(CommitError::Failed(error)) => unit.fail(error),
                    Err(CommitError::InDoubt(error)) => unit.fail(in_doubt(&error)),
                }
            }
            RunOutcome::Refused | RunOutcome::Failed => {
                tx.rollback().await;
                unit.reply();
            }
        }
    }
}
