//! Proves that the database can be written, by a write that takes as much room as a batch of payments and leaves nothing.

use base::trace;
use sea_orm::ConnectionTrait;

use crate::Store;
use crate::connect::answered;
use crate::either::Either;
use crate::error::StoreError;
use crate::limits::PROVING_BYTES;
use crate::unit::UnitOfWork;
use crate::unit::tx::Tx;

/// The size of a typical row, small enough that the database does not compress it.
const ROW_BYTES: usize = 1024;
/// PostgreSQL's insufficient_privilege.
const MAY_NOT: &str = "42501";

impl<E> Store<E> {
    /// Makes sure that the database can be written: after a failed write, by a write as large as those of payments.
    ///
    /// Errors: [`StoreError::Unavailable`] while another caller does so.
    pub async fn prove_writable(&self) -> Result<(), StoreError> {
        let Some(doubt) = self.condition.doubt()? else { return Ok(()) };
        match self.reader.inner() {
            // Once committed, the filler is in the log, and in pages that the next payments take: so it is deleted afterwards.
            Either::Sqlite(_) => {
                let filler = format!(
                    "INSERT INTO installation (name, value) VALUES ('room', printf('%.*c', {PROVING_BYTES}, 'x')) \
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value"
                );
                self.execute(filler).await?;
                self.execute("DELETE FROM installation WHERE name = 'room'".into()).await?;
            }
            // In a table of its own: any other may have room left by deleted rows.
            Either::Postgres(_) => {
                let rows = PROVING_BYTES / ROW_BYTES;
                let filler = format!(
                    "CREATE TABLE card_payments_room AS \
                     SELECT repeat('x', {ROW_BYTES}) AS filler FROM generate_series(1, {rows}); \
                     DROP TABLE card_payments_room"
                );
                match self.execute(filler).await {
                    // A user who may not create tables proves that it can write at all.
                    Err(StoreError::Database(error)) if answered(&error).as_deref() == Some(MAY_NOT) => {
                        let same = "UPDATE installation SET value = value WHERE name = 'environment'";
                        self.execute(same.into()).await?;
                    }
                    made => made?,
                }
            }
        }
        doubt.ends();
        Ok(())
    }

    async fn execute(&self, sql: String) -> Result<(), StoreError> {
        let execute = async |tx: &Tx, sql: &String| -> Result<(), StoreError> {
            Ok(tx.execute_unprepared(sql).await.map(drop)?)
        };
        self.run(UnitOfWork::new(sql, execute, trace::current())).await.map(drop)
    }
}
