//! SQLite's one writer. It takes what waits, runs it in one transaction, commits once and answers all, so
//! that sixteen payments share one flush of the disk.

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::begun::Uncommitted;
use super::tx::{Begin, Tx};
use super::unit::{Ran, Unit, Waiting, in_doubt, uncommitted};
use crate::error::{Error, ErrorCode};
use crate::limits::BATCH_UNITS_MAX;

type Batch = Vec<Box<dyn Unit>>;

pub(super) struct Writer(mpsc::Sender<Box<dyn Unit>>);

impl Writer {
    pub fn start(begin: Begin) -> Self {
        let (sender, mut waiting) = mpsc::channel::<Box<dyn Unit>>(4 * BATCH_UNITS_MAX);
        tokio::spawn(async move {
            let mut batch = Batch::with_capacity(BATCH_UNITS_MAX);
            // No timer: an idle queue commits at once.
            while waiting.recv_many(&mut batch, BATCH_UNITS_MAX).await > 0 {
                write(&begin, std::mem::take(&mut batch)).await;
            }
        });
        Self(sender)
    }

    /// How many units wait.
    pub fn queue(&self) -> usize {
        self.0.max_capacity() - self.0.capacity()
    }

    pub async fn run<D, T, F>(&self, data: D, unit: F) -> Result<T, Error>
    where
        D: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'u> Fn(&'u Tx, &'u D) -> BoxFuture<'u, Result<T, Error>> + Send + Sync + 'static,
    {
        let (unit, answer) = Waiting::new(data, unit);
        self.0.send(Box::new(unit)).await.map_err(|_| ErrorCode::ServiceUnavailable)?;
        answer.await.unwrap_or_else(|_| Err(ErrorCode::ServiceUnavailable.into()))
    }
}

/// Write a batch. Where one unit spoils it, the batch is rolled back and its units run one by one.
async fn write(begin: &Begin, mut batch: Batch) {
    if batch.len() == 1 {
        return singly(begin, batch).await;
    }
    let tx = begin.tx();
    for unit in &mut batch {
        match unit.run(&tx).await {
            Ran::Done => tx.keep_unit(),
            Ran::Refused if tx.drop_unit() => {}
            Ran::Refused | Ran::Failed => {
                tracing::debug!(units = batch.len(), "a batch is run again, one by one");
                tx.rollback().await;
                return singly(begin, batch).await;
            }
        }
    }
    match tx.commit().await {
        Ok(()) => batch.into_iter().for_each(Unit::answer),
        Err(Uncommitted::Failed(error)) => {
            tracing::debug!(units = batch.len(), %error, "a batch is run again, one by one");
            singly(begin, batch).await;
        }
        // A refusal may rest on a neighbour's write, so it is in doubt as well.
        Err(Uncommitted::InDoubt(error)) => batch.into_iter().for_each(|unit| unit.fail(in_doubt(&error))),
    }
}

async fn singly(begin: &Begin, batch: Batch) {
    for mut unit in batch {
        let tx = begin.tx();
        match unit.run(&tx).await {
            Ran::Done => {
                tx.keep_unit();
                match tx.commit().await {
                    Ok(()) => unit.answer(),
                    Err(Uncommitted::Failed(error)) => unit.fail(uncommitted(error)),
                    Err(Uncommitted::InDoubt(error)) => unit.fail(in_doubt(&error)),
                }
            }
            Ran::Refused | Ran::Failed => {
                tx.rollback().await;
                unit.answer();
            }
        }
    }
}
