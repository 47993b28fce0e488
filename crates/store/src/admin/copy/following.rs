//! A copy that takes over what running servers change, until the installation moves.

use std::time::{Duration, Instant};

use base::progress::Progress;

use super::change_log::ChangeLog;
use super::row::CopiedTable;
use super::table::Table;
use super::target::FOLLOWING;
use super::{Copy, CopyError, digest, refuse_restoring};
use crate::citus::distributed::is_distributed;
use crate::either::Either;
use crate::location::Location;
use crate::{Snapshot, Store};

/// A round of changes that takes less leaves little.
const LAST_ROUND: Duration = Duration::from_millis(500);

/// A copy in progress that follows its source. No server starts on its database until [`FollowingCopy::move_over`].
pub struct FollowingCopy<'s, E> {
    copy: Copy<'s, E>,
    changes: ChangeLog,
    /// Whether an earlier run has copied all rows once, so that the changes suffice.
    is_following: bool,
}

impl<'s, E> FollowingCopy<'s, E> {
    /// Begins to copy a database, or continues a copy that was cut off. The changes of running servers are recorded from now on.
    ///
    /// Refuses what [`Copy::begin`] does and what cannot follow, before it changes anything in either database.
    pub async fn begin(source: &'s Store<E>, location: &Location) -> Result<Self, CopyError> {
        if matches!(location, Location::Sqlite { .. }) {
            return Err(CopyError::FollowsIntoSqlite);
        }
        if let Either::Postgres(connections) = source.read().inner()
            && is_distributed(connections).await?
        {
            return Err(CopyError::FollowsDistributed);
        }
        let copy = Copy::begin_as(source, location, true).await?;
        let mut is_following = copy.former_stage.as_deref() == Some(FOLLOWING);
        // An upgrade since the earlier run may have made a table whose changes were not recorded.
        if is_following && !ChangeLog::is_complete(source, &copy.tables).await? {
            if !copy.target.lack_rows().await? {
                return Err(CopyError::Cancelled);
            }
            is_following = false;
        }
        let (changes, is_begun) = ChangeLog::begin(source, &copy.tables, location.display()).await?;
        let is_following = is_begun && is_following;
        Ok(Self { copy, changes, is_following })
    }

    /// Copies every table as it is at one instant, unless an earlier run has done so.
    pub async fn run(&self, progress: &dyn Progress) -> Result<(), CopyError> {
        if self.is_following {
            return Ok(());
        }
        self.copy.run(progress, |_| ()).await?;
        if self.copy.target.follow().await? { Ok(()) } else { Err(CopyError::Cancelled) }
    }

    /// Copies what servers have changed, in rounds, until little is left, or as much as before.
    pub async fn catch_up(&self) -> Result<(), CopyError> {
        let mut last = Duration::MAX;
        loop {
            let began = Instant::now();
            self.copy_changes().await?;
            let took = began.elapsed();
            if took < LAST_ROUND || took > last {
                return Ok(());
            }
            last = took;
        }
    }

    async fn copy_changes(&self) -> Result<(), CopyError> {
        let source = self.copy.source.snapshot().await?;
        Ok(self.changes.copy_changes(&source, &self.copy.tables, &self.copy.target).await?)
    }

    /// Returns the store of the copy: indexes are made from its rows, and its books verified, before it takes over.
    pub fn store(&self) -> &Store<E> {
        self.copy.store()
    }

    /// Ends all writing to the source, copies the rest and lets servers start on the copy. From then on, none starts on the source.
    /// If the rest cannot be copied, or somebody has cancelled the copy, servers write to the source again.
    pub async fn move_over(self) -> Result<Moved, CopyError> {
        let Self { copy, changes, .. } = &self;
        let began = Instant::now();
        let rest = async {
            changes.end_writing(&copy.tables).await?;
            self.copy_changes().await?;
            let source = copy.source.snapshot().await?;
            refuse_restoring(&source).await?;
            Ok::<_, CopyError>((source, copy.target.store.snapshot().await?))
        };
        let rest = match rest.await {
            // An error here does not say whether servers may start on the copy: the source stays as it is.
            Ok(both) if copy.target.complete().await? => Ok(both),
            Ok(_) => Err(CopyError::Cancelled),
            Err(error) => Err(error),
        };
        match rest {
            Ok((source, target)) => {
                Ok(Moved { refused_for: began.elapsed(), tables: self.copy.tables, source, target })
            }
            Err(error) => {
                changes.allow_writing().await?;
                Err(error)
            }
        }
    }
}

/// An installation that has moved: both databases as they were then, whatever servers write to the copy meanwhile.
pub struct Moved {
    /// The time for which servers have refused changes.
    pub refused_for: Duration,
    tables: Vec<Table>,
    source: Snapshot,
    target: Snapshot,
}

impl Moved {
    /// Compares all tables once more, and passes each to `on_table`.
    pub async fn compare(&self, mut on_table: impl FnMut(&CopiedTable)) -> Result<(), CopyError> {
        for table in &self.tables {
            let (source, copied) =
                tokio::join!(digest(&self.source, table, u64::MAX), digest(&self.target, table, u64::MAX));
            let copied = copied?;
            if source? != copied {
                return Err(CopyError::MovedDiffers(table.name.clone()));
            }
            on_table(&copied.of_table(&table.name));
        }
        Ok(())
    }
}
