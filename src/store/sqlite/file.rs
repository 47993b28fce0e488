//! The file of a database: one server a file, whatever the names it has, and whether it is still where it was.
//!
//! A server holds two locks of the system. The one on `FILE.lock` is for the name: no other server begins there, not even
//! where the file itself was moved away. The one on the file is for the file: another name of it (a hard link, a mount of the
//! file alone) would have a log of its own, and two logs of one file destroy it. The lock is flock's, of which SQLite's own
//! locks know nothing on Linux. Those are lost once the process closes the file by any descriptor, so ours stays open for as
//! long as there is a connection.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sea_orm::{DbErr, RuntimeErr};

use crate::runtime::durable_fs;
use crate::store::connect::ConnectError;

/// Elsewhere a file's lock of this kind gets in the way of SQLite's own.
const LOCKS_FILES: bool = cfg!(target_os = "linux");

/// A server's lock. Dropped, another server may begin, though a connection is still being closed.
#[derive(Debug)]
pub struct FileLock {
    file: Arc<File>,
    _name: File,
}

impl FileLock {
    /// Take it, and make the file if there is none.
    pub(in crate::store) fn take(path: &Path) -> Result<Self, ConnectError> {
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
        let name = private().truncate(false).open(&name).map_err(failed(&name))?;
        lock(&name)?;
        make(path).map_err(failed(path))?;
        let file = File::open(path).map_err(failed(path))?;
        if LOCKS_FILES {
            lock(&file)?;
        }
        Ok(Self { file: Arc::new(file), _name: name })
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // What cannot be unlocked is unlocked when it is closed.
        let _ = self.file.unlock();
    }
}

/// The lock's file beside the one that is meant, whichever names lead there.
fn lock_of(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).with_added_extension("lock")
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

/// Make a file that is not there yet, which only its owner reads: SQLite makes those beside it with its mode.
fn make(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    match private().create_new(true).open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Whether a server runs on a file, by whichever name: whether its lock can be shared, which it is for no longer than it takes
/// to ask. One that starts at that very instant is told that there is another. Not for a process that has connections to it.
pub(in crate::store) fn is_served(path: &Path) -> bool {
    is_held(&lock_of(path)) || LOCKS_FILES && is_held(path)
}

fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Refuse a name of a file that a server has by another one, before anything is opened.
pub(in crate::store) fn refuse_other_name(path: &Path) -> Result<(), ConnectError> {
    if LOCKS_FILES && is_held(path) && !is_held(&lock_of(path)) {
        return Err(ConnectError::OtherName(path.into()));
    }
    Ok(())
}

/// Device and inode: which file it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

impl From<Metadata> for FileId {
    fn from(file: Metadata) -> Self {
        Self(file.dev(), file.ino())
    }
}

/// A file that is open.
#[derive(Debug)]
pub struct DatabaseFile {
    path: PathBuf,
    id: FileId,
    is_away: AtomicBool,
    /// A server's: open for as long as there is a connection.
    _held: Option<Arc<File>>,
}

impl DatabaseFile {
    /// The file of this name, of which a server has the lock; it is made if there is none.
    pub fn open(path: &Path, lock: Option<&FileLock>) -> Result<Self, ConnectError> {
        let failed = |error| ConnectError::Folder(path.into(), error);
        let held = lock.map(|lock| Arc::clone(&lock.file));
        let id = if let Some(file) = &held {
            file.metadata()
        } else {
            refuse_other_name(path)?;
            make(path).and_then(|()| path.metadata())
        };
        let id = id.map_err(failed)?.into();
        Ok(Self { path: path.into(), id, is_away: AtomicBool::new(false), _held: held })
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is still there. What is written to a file without its name is lost with the process.
    pub fn is_in_place(&self) -> bool {
        let is_there = self.path.metadata().is_ok_and(|found| FileId::from(found) == self.id);
        let was_away = self.is_away.swap(!is_there, Ordering::Relaxed);
        if was_away == is_there {
            let path = self.path.display();
            if is_there {
                tracing::info!(%path, "the database file is back: writes are taken again");
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

/// Why nothing can be done without it.
pub(super) fn away() -> DbErr {
    DbErr::Conn(RuntimeErr::Internal("the database file is not where it was".into()))
}
