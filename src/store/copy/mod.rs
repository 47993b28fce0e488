//! Copies all tables of a database into an empty one, of either kind, and proves the copy. The source is read at one instant,
//! whatever its server writes meanwhile.

mod change_log;
mod row;
mod table;
mod target;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use sea_orm::{DatabaseConnection, DbErr};

use self::change_log::ChangeLog;
pub use self::row::CopiedTable;
use self::row::{Chunk, Digest};
use self::table::{Table, tables};
use self::target::Target;
use super::connect::{ConnectError, Location};
use super::distributed::is_distributed;
use super::either::Either;
use super::installation_info::{InstallationInfo, MOVED_TO, installation_entry, read_installation_to_copy};
use super::sqlite::{Connection, SqliteAdapter, WriteConnection};
use super::{Snapshot, Store};
use crate::runtime::progress::Progress;

/// The encoded size of the rows that are committed together: a copy that was cut off continues after them.
const CHUNK_BYTES: usize = 4 << 20;
/// A round of changes that takes less leaves little.
const LAST_ROUND: Duration = Duration::from_millis(500);
/// The stages of an unfinished copy: rows are missing, or all rows were copied once and changes follow.
const UNFINISHED: &str = "unfinished";
const FOLLOWING: &str = "following";

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
    /// There is nothing to cancel.
    #[error("the target holds an installation, and a server may run on it: none starts on the source again")]
    NotUnfinished,
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

/// A connection for statements that no unit of work makes.
type RawWriter = Either<WriteConnection, DatabaseConnection>;

fn raw_writer(store: &Store) -> Result<RawWriter, DbErr> {
    Ok(match store.read().inner() {
        Either::Sqlite(readers) => {
            let connection = Connection::open(&Arc::clone(readers.0.file()))?;
            Either::Sqlite(SqliteAdapter(WriteConnection::on(connection)))
        }
        Either::Postgres(connections) => Either::Postgres(connections.pool().clone()),
    })
}

/// A copy in progress. No server starts on its database until [`Copy::finish`] or [`Copy::move_over`].
pub struct Copy<'s> {
    source: &'s Store,
    tables: Vec<Table>,
    target: Target,
    /// The name of the target.
    to: String,
    changes: Option<ChangeLog>,
    /// Whether an earlier run has copied all rows once, so that the changes suffice.
    is_following: bool,
}

impl<'s> Copy<'s> {
    /// Begins to copy a database, or continues a copy that was cut off. If the copy `follows`, the changes of running servers are
    /// recorded from now on.
    ///
    /// Refuses a target with rows of its own, before it changes anything in either database.
    pub async fn begin(source: &'s Store, location: &Location, follows: bool) -> Result<Self, CopyError> {
        let found = read_installation_to_copy(location).await?;
        if is_used(&found) {
            return Err(CopyError::NotEmpty);
        }
        if follows && matches!(location, Location::Sqlite { .. }) {
            return Err(CopyError::FollowsIntoSqlite);
        }
        if follows
            && let Either::Postgres(connections) = source.read().inner()
            && is_distributed(connections).await?
        {
            return Err(CopyError::FollowsDistributed);
        }
        let to = location.display();
        refuse_moved_elsewhere(source, &to).await?;
        let tables = tables(source.read()).await?;
        let target = Target::open(location).await?;
        if found.copying.is_none() {
            target.mark(UNFINISHED).await?;
        }
        let changes = if follows { Some(ChangeLog::begin(source, &tables).await?) } else { None };
        let is_following = match &changes {
            Some(changes) => {
                found.copying.as_deref() == Some(FOLLOWING)
                    && changes.followed_by().await? == Some(to.clone())
            }
            None => false,
        };
        Ok(Self { source, tables, target, to, changes, is_following })
    }

    /// Copies every table as it is at one instant, compares each with its copy and passes it to `on_table`.
    pub async fn run(
        &mut self,
        progress: &dyn Progress,
        mut on_table: impl FnMut(&CopiedTable),
    ) -> Result<(), CopyError> {
        if self.is_following {
            return Ok(());
        }
        let source = self.source.snapshot().await?;
        let mut rows = 0;
        for table in &self.tables {
            rows += table.count(&source).await?;
        }
        if rows == 0 {
            return Err(CopyError::NothingThere);
        }
        progress.set_total(rows);
        let mut done = 0;
        for table in &self.tables {
            let copied = self.copy(&source, table, |rows| progress.set_done(done + rows)).await?;
            if digest(&self.target.snapshot().await?, table, u64::MAX).await? != copied {
                return Err(CopyError::Differs(table.name.clone()));
            }
            let copied = copied.of_table(&table.name);
            done += copied.rows;
            on_table(&copied);
        }
        if let Some(changes) = &self.changes {
            changes.set_followed_by(&self.to).await?;
            self.target.mark(FOLLOWING).await?;
            self.is_following = true;
        }
        Ok(())
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
        let Some(changes) = &self.changes else { return Ok(()) };
        let source = self.source.snapshot().await?;
        Ok(changes.copy_changes(&source, &self.tables, &self.target).await?)
    }

    /// Returns the store of the copy: indexes are made from its rows, and its books verified, before it is finished.
    pub fn store(&self) -> &Store {
        &self.target.store
    }

    /// Lets servers start on the copy.
    pub async fn finish(self) -> Result<(), CopyError> {
        Ok(self.target.unmark().await?)
    }

    /// Ends all writing to the source, copies the rest and lets servers start on the copy. From then on, none starts on the source.
    /// If the rest cannot be copied, servers write to the source again.
    pub async fn move_over(self) -> Result<Moved, CopyError> {
        let Some(changes) = &self.changes else { return Err(CopyError::NothingThere) };
        let began = Instant::now();
        let rest = async {
            changes.end_writing(&self.tables, &self.to).await?;
            self.copy_changes().await?;
            Ok::<_, CopyError>((self.source.snapshot().await?, self.target.snapshot().await?))
        };
        let (source, copy) = match rest.await {
            Ok(both) => both,
            Err(error) => {
                changes.allow_writing().await?;
                return Err(error);
            }
        };
        self.target.unmark().await?;
        Ok(Moved { refused_for: began.elapsed(), tables: self.tables, source, copy })
    }

    /// Ends a copy that was cut off: servers start on, and write to, the source again. The target stays an unfinished copy.
    pub async fn cancel(source: &Store, location: &Location) -> Result<(), CopyError> {
        refuse_moved_elsewhere(source, &location.display()).await?;
        if is_used(&read_installation_to_copy(location).await?) {
            return Err(CopyError::NotUnfinished);
        }
        let tables = tables(source.read()).await?;
        Ok(ChangeLog::of(source)?.remove(&tables).await?)
    }

    /// Copies the rows of a table. Rows that an earlier run has copied stay, if they are still the table's first ones.
    async fn copy(
        &self,
        source: &Snapshot,
        table: &Table,
        on_rows: impl Fn(u64),
    ) -> Result<Digest, CopyError> {
        let present = digest(&self.target.snapshot().await?, table, u64::MAX).await?;
        let mut kept = present.rows;
        if kept > 0 && digest(source, table, kept).await? != present {
            self.target.clear(table).await?;
            kept = 0;
        }
        let (mut digest, mut chunk) = (Digest::default(), Chunk::default());
        let mut rows = source.stream(table.select(source, u64::MAX)).await?;
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

/// Returns whether a database holds an installation, and not an unfinished copy of one.
fn is_used(found: &InstallationInfo) -> bool {
    found.copying.is_none() && (found.environment.is_some() || !found.keys.is_empty())
}

async fn refuse_moved_elsewhere(source: &Store, to: &str) -> Result<(), CopyError> {
    match installation_entry(source.read(), MOVED_TO).await? {
        Some(elsewhere) if elsewhere != to => Err(ConnectError::Moved(elsewhere).into()),
        _ => Ok(()),
    }
}

/// An installation that has moved: both databases as they were then, whatever servers write to the copy meanwhile.
pub struct Moved {
    /// For how long servers have refused changes.
    pub refused_for: Duration,
    tables: Vec<Table>,
    source: Snapshot,
    copy: Snapshot,
}

impl Moved {
    /// Compares all tables once more, and passes each to `on_table`.
    pub async fn compare(&self, mut on_table: impl FnMut(&CopiedTable)) -> Result<(), CopyError> {
        for table in &self.tables {
            let (source, copy) =
                tokio::join!(digest(&self.source, table, u64::MAX), digest(&self.copy, table, u64::MAX));
            let copied = copy?;
            if source? != copied {
                return Err(CopyError::MovedDiffers(table.name.clone()));
            }
            on_table(&copied.of_table(&table.name));
        }
        Ok(())
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
