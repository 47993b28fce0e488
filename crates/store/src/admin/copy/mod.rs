//! Copies all tables of a database into an empty one, of either kind, and proves the copy. The source is read at one instant,
//! whatever its server writes meanwhile.

mod change_log;
mod following;
mod row;
mod table;
mod target;
mod writer;

use std::future::ready;

use futures::TryStreamExt;
use sea_orm::{DatabaseTransaction, DbErr};

use self::change_log::ChangeLog;
pub use self::following::FollowingCopy;
pub use self::row::CopiedTable;
use base::progress::Progress;

use self::row::{Digest, in_chunks};
use self::table::{Table, tables};
use self::target::{CANCELLED, Target};
use super::installation_info::{
    FOLLOWED_BY, InstallationInfo, MOVED_TO, installation_entry, is_restoring, read_installation_to_copy,
};
use crate::connect::ConnectError;
use crate::location::Location;
use crate::{Snapshot, Store};

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
    /// The target cannot take the changes of a running server.
    #[error("a running server is followed into PostgreSQL only: stop it, and copy without --follow")]
    FollowsIntoSqlite,
    /// The source is distributed, and its tables have no triggers.
    #[error("a distributed database cannot be followed: stop its servers, and copy without --follow")]
    FollowsDistributed,
    /// The source is being copied elsewhere, and is followed by one database at a time.
    #[error("a copy follows the database into {0}: complete that one, or end it with --cancel")]
    FollowedElsewhere(String),
    /// The target takes the changes of the source.
    #[error("the target follows the database: go on with --follow, or end that with --cancel")]
    Follows,
    /// Another command writes to the target.
    #[error("another command copies into the target")]
    Busy,
    /// There is nothing to cancel.
    #[error("the target holds an installation, and a server may run on it: none starts on the source again")]
    NotUnfinished,
    /// Somebody has cancelled the copy meanwhile.
    #[error("the copy was cancelled meanwhile: servers work on the old database")]
    Cancelled,
    /// A snapshot is being restored in the source.
    #[error(
        "a snapshot is being restored into an account: run the command again once a server has finished that"
    )]
    Restoring,
    /// The rows of a table differ after they moved.
    #[error("the table {0} differs from its copy, which is in use: stop its servers")]
    MovedDiffers(String),
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
pub struct Copy<'s, E> {
    source: &'s Store<E>,
    tables: Vec<Table>,
    /// The number of rows as the copy began.
    rows: u64,
    target: Target<E>,
    /// The stage in which an earlier run has left the target.
    former_stage: Option<String>,
    _lock: Option<DatabaseTransaction>,
}

impl<'s, E> Copy<'s, E> {
    /// Begins to copy a database, or continues a copy that was cut off.
    ///
    /// Refuses a target with rows of its own, and a source without rows, before it changes anything in either database.
    pub async fn begin(source: &'s Store<E>, location: &Location) -> Result<Self, CopyError> {
        Self::begin_as(source, location, false).await
    }

    async fn begin_as(source: &'s Store<E>, location: &Location, follows: bool) -> Result<Self, CopyError> {
        let lock = target::lock(location).await?;
        let found = read_installation_to_copy(location).await?;
        if is_used(&found) {
            return Err(CopyError::NotEmpty);
        }
        match is_followed_by(source, location).await {
            // A plain copy is made beside one that follows into another database.
            Err(CopyError::FollowedElsewhere(_)) if !follows => {}
            Ok(true) if !follows => return Err(CopyError::Follows),
            others => {
                others?;
            }
        }
        let tables = tables(source.read()).await?;
        let (snapshot, mut rows) = (source.snapshot().await?, 0);
        for table in &tables {
            rows += table.count(&snapshot).await?;
        }
        drop(snapshot);
        if rows == 0 {
            return Err(CopyError::NothingThere);
        }
        let target = Target::open(location).await?;
        let former_stage = found.copying;
        if former_stage.as_deref().is_none_or(|stage| stage == CANCELLED) {
            target.begin().await?;
        }
        Ok(Self { source, tables, rows, target, former_stage, _lock: lock })
    }

    /// Copies every table as it is at one instant, compares each with its copy and passes it to `on_table`.
    pub async fn run(
        &self,
        progress: &dyn Progress,
        mut on_table: impl FnMut(&CopiedTable),
    ) -> Result<(), CopyError> {
        let source = self.source.snapshot().await?;
        refuse_restoring(&source).await?;
        progress.set_total(self.rows);
        let mut done = 0;
        for table in &self.tables {
            let copied = self.copy(&source, table, |rows| progress.set_done(done + rows)).await?;
            if digest(&self.target.store.snapshot().await?, table, u64::MAX).await? != copied {
                return Err(CopyError::Differs(table.name.clone()));
            }
            let copied = copied.of_table(&table.name);
            done += copied.rows;
            on_table(&copied);
        }
        Ok(())
    }

    /// Returns the store of the copy: indexes are made from its rows, and its books verified, before it is finished.
    pub fn store(&self) -> &Store<E> {
        &self.target.store
    }

    /// Lets servers start on the copy.
    pub async fn finish(self) -> Result<(), CopyError> {
        if self.target.complete().await? { Ok(()) } else { Err(CopyError::Cancelled) }
    }

    /// Ends a copy that was cut off: servers start on, and write to, the source again. The target stays an unfinished copy.
    ///
    /// Its mark decides between this and the end of a copy that is still running: one of them finds that the other came first.
    pub async fn cancel(source: &Store<E>, location: &Location) -> Result<(), CopyError> {
        is_followed_by(source, location).await?;
        let found = read_installation_to_copy(location).await?;
        // A copy marks its target before it changes the source: where there is no mark, none is running.
        let is_cancelled = match found.copying {
            Some(_) => Target::<E>::open(location).await?.cancel().await?,
            None => !is_used(&found),
        };
        if !is_cancelled {
            return Err(CopyError::NotUnfinished);
        }
        let tables = tables(source.read()).await?;
        ChangeLog::remove(source, &tables, location.display()).await
    }

    /// Copies the rows of a table. Rows that an earlier run has copied stay, if they are still the table's first ones.
    async fn copy(
        &self,
        source: &Snapshot,
        table: &Table,
        on_rows: impl Fn(u64),
    ) -> Result<Digest, CopyError> {
        let present = digest(&self.target.store.snapshot().await?, table, u64::MAX).await?;
        let mut kept = present.rows;
        if kept > 0 && digest(source, table, kept).await? != present {
            self.target.clear(table).await?;
            kept = 0;
        }
        let mut digest = Digest::default();
        let rows = source.stream(table.select(source, u64::MAX)).await?.try_filter_map(|row| {
            ready(table.read(&row).map(|row| {
                digest.add(&row);
                (digest.rows > kept).then_some(row)
            }))
        });
        let mut copied = kept;
        in_chunks(rows, async |chunk| {
            copied += chunk.rows.len() as u64;
            self.target.insert(table, chunk).await?;
            on_rows(copied);
            Ok(())
        })
        .await?;
        Ok(digest)
    }
}

/// Returns whether a database holds an installation, and not an unfinished copy of one.
fn is_used(found: &InstallationInfo) -> bool {
    found.copying.is_none() && (found.environment.is_some() || !found.keys.is_empty())
}

/// Returns whether the source is followed by a database. Refuses a source that has moved to, or is followed by, another one.
async fn is_followed_by<E>(source: &Store<E>, location: &Location) -> Result<bool, CopyError> {
    let to = location.display();
    match installation_entry(source.read(), MOVED_TO).await? {
        Some(elsewhere) if elsewhere != to => return Err(ConnectError::Moved(elsewhere).into()),
        _ => {}
    }
    match installation_entry(source.read(), FOLLOWED_BY).await? {
        Some(elsewhere) if elsewhere != to => Err(CopyError::FollowedElsewhere(elsewhere)),
        followed_by => Ok(followed_by.is_some()),
    }
}

/// Refuses a source in which a snapshot replaces the rows of an account: only a server of that database finishes this.
async fn refuse_restoring(source: &Snapshot) -> Result<(), CopyError> {
    if is_restoring(source).await? { Err(CopyError::Restoring) } else { Ok(()) }
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
