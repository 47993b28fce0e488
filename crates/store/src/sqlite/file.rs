//! The database file: one server per file whatever its names, and a check that it is still where it was.
//!
//! A server holds two locks of the system. The lock on `FILE.lock` is for the name: no other server starts there, not even if
//! the file itself was moved away. The lock on the file is for the file: another name of it (a hard link, a mount of the file
//! alone) would have a log of its own, and two logs of one file destroy it. The lock is flock's, which on Linux does not
//! interact with SQLite's own locks. The process loses those if it closes any descriptor of the file, so ours stays open as
//! long as there is a connection.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::durable_fs;
use base::platform::{FILE_LOCKS_ARE_SEPARATE, FileId, private_file};
use sea_orm::{DbErr, RuntimeErr};
use tempfile::NamedTempFile;

use super::connection::Connection;
use super::fence::Fences;
use crate::connect::{ConnectError, answered};
use crate::error::is_damage;

/// A server's lock. Once it is dropped another server may start, even while a connection is still being closed.
#[derive(Debug)]
pub struct FileLock {
    file: Arc<File>,
    _name: File,
}

impl FileLock {
    /// Takes the locks; creates the file if there is none.
    pub(crate) fn take(path: &Path) -> Result<Self, ConnectError> {
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            durable_fs::create_folder(parent).map_err(|error| ConnectError::Folder(parent.into(), error))?;
        }
        let failed = |path: &Path| {
            let path = path.to_owned();
            |error| ConnectError::Folder(path, error)
        };
        let lock = |file: &File| match file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(ConnectError::Locked(path.into())),
            Err(TryLockError::Error(error)) => Err(failed(path)(error)),
        };
        let name = lock_of(path);
        let name = private_file().truncate(false).open(&name).map_err(failed(&name))?;
        lock(&name)?;
        make(path)?;
        let file = File::open(path).map_err(failed(path))?;
        if FILE_LOCKS_ARE_SEPARATE {
            lock(&file)?;
        }
        Ok(Self { file: Arc::new(file), _name: name })
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // If unlocking fails, closing the file unlocks it.
        let _ = self.file.unlock();
    }
}

/// Returns the path of the lock file, which stands beside the real file whatever links lead there.
fn lock_of(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).with_added_extension("lock")
}

/// Creates a missing file that only its owner can read: SQLite gives the files beside it the same mode. It is an empty database
/// with a write-ahead log, made under another name and flushed once. Made in place, it would need a rollback journal, which is
/// flushed four times, so that a power cut leaves no part of it. SQLite flushes the name before the first commit.
fn make(path: &Path) -> Result<(), ConnectError> {
    if path.exists() {
        return Ok(());
    }
    let failed = |error| ConnectError::Folder(path.into(), error);
    let file = NamedTempFile::new_in(durable_fs::folder_of(path)).map_err(failed)?;
    let database = Connection::to_look_at(file.path())?;
    database
        .execute_all("PRAGMA synchronous = OFF; PRAGMA journal_mode = memory; PRAGMA journal_mode = wal")?;
    drop(database);
    file.as_file().sync_all().map_err(failed)?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != ErrorKind::AlreadyExists => Err(failed(error.error)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns whether a server runs on a file, under any name. Takes the lock shared for a moment: a server that starts at that
/// very instant is refused as if another one ran. Not for a process that has connections to the file.
pub(crate) fn is_served(path: &Path) -> bool {
    is_held(&lock_of(path)) || FILE_LOCKS_ARE_SEPARATE && is_held(path)
}

fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Refuses a file that a server uses under another name, before anything is opened.
pub(crate) fn refuse_other_name(path: &Path) -> Result<(), ConnectError> {
    if FILE_LOCKS_ARE_SEPARATE && is_held(path) && !is_held(&lock_of(path)) {
        return Err(ConnectError::OtherName(path.into()));
    }
    Ok(())
}

/// An open database file.
#[derive(Debug)]
pub struct DatabaseFile {
    path: PathBuf,
    id: FileId,
    is_away: AtomicBool,
    /// Whether a page was read that is none of a database. What is written beside it may be lost with it.
    is_damaged: AtomicBool,
    pub(crate) fences: Fences,
    /// A server's descriptor, open as long as there is a connection.
    _held: Option<Arc<File>>,
}

impl DatabaseFile {
    /// Opens the file at a path, creating a missing one; `lock` is that of the server, if there is one.
    pub fn open(path: &Path, lock: Option<&FileLock>) -> Result<Self, ConnectError> {
        let failed = |error| ConnectError::Folder(path.into(), error);
        let held = lock.map(|lock| Arc::clone(&lock.file));
        let id = if let Some(file) = &held {
            FileId::of(file)
        } else {
            refuse_other_name(path)?;
            make(path)?;
            FileId::at(path)
        };
        let id = id.map_err(failed)?;
        let (is_away, is_damaged) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(Self { path: path.into(), id, is_away, is_damaged, fences: Fences::default(), _held: held })
    }

    /// Returns the path where the file was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records an error's code. If that says that the file is damaged, nothing more is written to it.
    pub(super) fn note(&self, code: u32) {
        if is_damage(code) && !self.is_damaged.swap(true, Ordering::Relaxed) {
            let path = self.path.display();
            tracing::error!(%path, "the database file is damaged, and writes are refused: {}", ConnectError::RESTORE);
        }
    }

    /// Records why a connection could not be opened.
    pub(super) fn note_fault(&self, error: &DbErr) {
        if let Some(code) = answered(error).and_then(|code| code.parse().ok()) {
            self.note(code);
        }
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }

    /// Returns why nothing may be written: the file is not in place, or a page that was read is damaged.
    pub(super) fn refusal(&self) -> Option<DbErr> {
        if self.is_damaged() {
            return Some(refused("the database file is damaged"));
        }
        (!self.is_in_place()).then(away)
    }

    /// Returns whether it may be written to.
    pub fn is_writable(&self) -> bool {
        self.refusal().is_none()
    }

    /// Returns whether the file is still in place. Data written to a file that has lost its name is lost with the process.
    pub(super) fn is_in_place(&self) -> bool {
        let is_there = FileId::at(&self.path).is_ok_and(|found| found == self.id);
        let was_away = self.is_away.swap(!is_there, Ordering::Relaxed);
        if was_away == is_there {
            let path = self.path.display();
            if is_there {
                tracing::info!(%path, "the database file is back: writes are accepted again");
            } else {
                tracing::error!(
                    %path,
                    "the database file was renamed, deleted or replaced: writes are refused until it is back"
                );
            }
        }
        is_there
    }
}

/// Returns the error for every operation on a missing file.
pub(super) fn away() -> DbErr {
    refused("the database file is not where it was")
}

fn refused(why: &str) -> DbErr {
    DbErr::Conn(RuntimeErr::Internal(why.into()))
}
