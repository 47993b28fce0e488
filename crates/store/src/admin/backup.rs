//! Copies a SQLite database that is in use.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use base::durable_fs::folder_of;
use base::platform;
use base::progress::Progress;
use sea_orm::{DbBackend, DbErr, Statement};
use tempfile::NamedTempFile;

use crate::connect::{ConnectError, refuse_foreign_file};
use crate::location::Location;
use crate::sqlite::{Connection, DatabaseFile};

/// An error that prevents a copy, in one line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database is a PostgreSQL, which has tools of its own.
    #[error("a PostgreSQL database is backed up by its own tools: pg_dump --format=custom --file=FILE")]
    Postgres,
    /// The target exists and is not overwritten.
    #[error("{0} already exists")]
    Exists(PathBuf),
    /// The copy cannot be written.
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    /// It was told to stop.
    #[error("the backup was stopped")]
    Stopped,
    /// The database cannot be read.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

impl From<DbErr> for BackupError {
    fn from(error: DbErr) -> Self {
        Self::Connect(error.into())
    }
}

/// Copies the committed state at one moment into a new file and returns its size in bytes. Other connections may write
/// meanwhile. The copy gets its name once all of it is on the disk. The schema is copied unchanged, so an old database can
/// be copied before it is migrated. Stops once `stop` is true, and leaves nothing behind.
pub fn backup(
    location: &Location,
    environment: &str,
    file: &Path,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<u64, BackupError> {
    let Location::Sqlite { path } = location else { return Err(BackupError::Postgres) };
    location.refuse_missing()?;
    if file.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(file.into()));
    }
    let database = Arc::new(DatabaseFile::open(path, None)?);
    refuse_foreign_file(path)?;
    copy(&Connection::open(&database)?, environment, file, progress, stop)
}

fn copy(
    database: &Connection,
    environment: &str,
    file: &Path,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<u64, BackupError> {
    let whose = "SELECT value FROM installation WHERE name = 'environment'";
    if let Some(row) = database.query_one(&Statement::from_string(DbBackend::Sqlite, whose))? {
        let whose: String = row.try_get("", "value")?;
        if whose != environment {
            return Err(ConnectError::Environment(whose).into());
        }
    }
    let failed = |error| BackupError::File(file.into(), error);
    let folder = folder_of(file);
    // Only its owner can read the file; an unfinished one is deleted.
    let copy = NamedTempFile::new_in(folder).map_err(failed)?;
    let name = copy.path().to_str().ok_or_else(|| failed(std::io::ErrorKind::InvalidFilename.into()))?;
    let copied = copy.path().to_owned();
    let size = "SELECT (page_count - freelist_count) * page_size AS bytes \
                FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    if let Some(row) = database.query_one(&Statement::from_string(DbBackend::Sqlite, size))? {
        progress.set_total(u64::try_from(row.try_get::<i64>("", "bytes")?).unwrap_or_default());
    }
    let vacuum = Statement::from_sql_and_values(DbBackend::Sqlite, "VACUUM INTO ?", [name.into()]);
    let interrupt = database.interrupter();
    let watch = move || {
        progress.set_done(copied.metadata().map_or(0, |file| file.len()));
        if stop.load(Ordering::Relaxed) {
            interrupt();
        }
    };
    watched(watch, || database.execute(&vacuum))
        .map_err(|error| if stop.load(Ordering::Relaxed) { BackupError::Stopped } else { error.into() })?;
    // Opened again, to flush what the database wrote and not the file opened before; for writing, as Windows wants it.
    let written = File::options().write(true).open(copy.path());
    written.and_then(|written| written.sync_all()).map_err(failed)?;
    let bytes = copy.path().metadata().map_err(failed)?.len();
    copy.persist_noclobber(file).map_err(|error| {
        if error.error.kind() == std::io::ErrorKind::AlreadyExists {
            BackupError::Exists(file.into())
        } else {
            failed(error.error)
        }
    })?;
    platform::flush_folder(folder).map_err(failed)?;
    Ok(bytes)
}

/// The interval at which the size of a growing copy is reported.
const POLL: Duration = Duration::from_millis(200);

/// Runs one long statement, and `watch` before it and every now and then.
fn watched<T>(watch: impl Fn() + Send, work: impl FnOnce() -> T) -> T {
    let (end, ended) = mpsc::channel::<()>();
    watch();
    thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                watch();
            }
        });
        let done = work();
        drop(end);
        done
    })
}
