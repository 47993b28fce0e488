//! Copies all tables of a database into an empty one, of either kind, and proves the copy. The source is read at one instant,
//! whatever its server writes meanwhile.

mod row;
mod table;
mod target;

use futures::TryStreamExt;
use sea_orm::DbErr;

pub use self::row::CopiedTable;
use self::row::{Chunk, Digest};
use self::table::{Table, tables};
use self::target::Target;
use super::connect::{ConnectError, Location};
use super::installation_info::read_installation_of_copy;
use super::{Snapshot, Store};
use crate::runtime::progress::Progress;

/// The encoded size of the rows that are committed together: a copy that was cut off continues after them.
const CHUNK_BYTES: usize = 4 << 20;

/// An error that prevents a copy, in one line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The target holds an installation, and not an unfinished copy of the source.
    #[error("the target is not empty: name a new database")]
    NotEmpty,
    /// The source was never used.
    #[error("there is nothing to copy: the database is empty")]
    NothingThere,
    /// A database cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The rows of a table differ after they were copied.
    #[error("the table {0} differs from its copy: no server starts on the copy; run the command again")]
    Differs(String),
}

impl From<DbErr> for CopyError {
    fn from(error: DbErr) -> Self {
        Self::Connect(error.into())
    }
}

/// A copy in progress. No server starts on its database until [`Copy::finish`].
pub struct Copy {
    source: Snapshot,
    target: Target,
}

impl Copy {
    /// Begins to copy a database as it is now, or continues a copy that was cut off.
    ///
    /// Refuses a target with rows of its own, before it changes anything there.
    pub async fn begin(source: &Store, location: &Location) -> Result<Self, CopyError> {
        let source = source.snapshot().await?;
        let found = read_installation_of_copy(location).await?;
        if !found.is_copying && (found.environment.is_some() || !found.keys.is_empty()) {
            return Err(CopyError::NotEmpty);
        }
        let target = Target::open(location).await?;
        if !found.is_copying {
            target.mark().await?;
        }
        Ok(Self { source, target })
    }

    /// Copies every table, compares each with its copy and passes it to `on_table`.
    pub async fn run(
        &self,
        progress: &dyn Progress,
        mut on_table: impl FnMut(&CopiedTable),
    ) -> Result<(), CopyError> {
        let tables = tables(&self.source).await?;
        let mut rows = 0;
        for table in &tables {
            rows += table.count(&self.source).await?;
        }
        if rows == 0 {
            return Err(CopyError::NothingThere);
        }
        progress.set_total(rows);
        let mut done = 0;
        for table in &tables {
            let copied = self.copy(table, |rows| progress.set_done(done + rows)).await?;
            if digest(&self.target.snapshot().await?, table, u64::MAX).await? != copied {
                return Err(CopyError::Differs(table.name.clone()));
            }
            let copied = copied.of_table(&table.name);
            done += copied.rows;
            on_table(&copied);
        }
        Ok(())
    }

    /// Returns the store of the copy: indexes are made from its rows, and its books verified, before it is finished.
    pub fn store(&self) -> &Store {
        &self.target.store
    }

    /// Lets servers start on the copy.
    pub async fn finish(self) -> Result<(), CopyError> {
        Ok(self.target.unmark().await?)
    }

    /// Copies the rows of a table. Rows that an earlier run has copied stay, if they are still the table's first ones.
    async fn copy(&self, table: &Table, on_rows: impl Fn(u64)) -> Result<Digest, CopyError> {
        let present = digest(&self.target.snapshot().await?, table, u64::MAX).await?;
        let mut kept = present.rows;
        if kept > 0 && digest(&self.source, table, kept).await? != present {
            self.target.clear(table).await?;
            kept = 0;
        }
        let (mut digest, mut chunk) = (Digest::default(), Chunk::default());
        let mut rows = self.source.stream(table.select(&self.source, u64::MAX)).await?;
        while let Some(row) = rows.try_next().await? {
            let row = table.read(&row)?;
            digest.add(&row);
            if digest.rows > kept {
                chunk.push(row);
            }
            if chunk.bytes() >= CHUNK_BYTES {
                self.target.insert(table, std::mem::take(&mut chunk)).await?;
                on_rows(digest.rows);
            }
        }
        self.target.insert(table, chunk).await?;
        on_rows(digest.rows);
        Ok(digest)
    }
}

/// Returns the digest of a table's first rows.
async fn digest(database: &Snapshot, table: &Table, limit: u64) -> Result<Digest, DbErr> {
    let mut digest = Digest::default();
    let mut rows = database.stream(table.select(database, limit)).await?;
    while let Some(row) = rows.try_next().await? {
        digest.add(&table.read(&row)?);
    }
    Ok(digest)
}
