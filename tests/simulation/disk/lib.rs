//! A disk in memory below SQLite. It forgets what was not flushed, and fails as a seed orders: the same seed and the same calls leave
//! the same bytes.
//!
//! `Disk::mount` places it below a folder of the machine. From then on every connection of this process to a file in that folder, by
//! whatever library, reads and writes the disk; all other files stay the machine's, and so do those that SQLite itself names, for
//! sorting. A file that lies in the folder when SQLite first opens it is copied to the disk, and counts as flushed: the store makes its
//! database so, under another name. The file in the folder does not change any more; it answers those who ask the machine whether the
//! database is in place.
//!
//! The locks and the index of the log are those of one process. A crash ends every connection: they fail from then on, and may be closed
//! at any time, because they change nothing any more.

mod device;
mod file;
mod folder;
mod locks;
#[path = "../../it/harness/random.rs"]
mod random;
#[cfg(test)]
mod tests;
mod vfs;

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use device::Device;

/// A result code of SQLite's.
type Code = c_int;

/// How often a disk fails, and how large it is. Rates are per million calls.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    /// Reads that fail.
    pub read_errors: u64,
    /// Writes and truncations that fail; a part of the bytes may be written.
    pub write_errors: u64,
    /// Flushes that fail. Linux then takes what was not flushed for clean: no later flush writes it.
    pub flush_errors: u64,
    /// Flushes that take time: up to `slowest_flush`.
    pub slow_flushes: u64,
    /// The longest time of a slow flush.
    pub slowest_flush: Duration,
    /// The bytes that all files together may have; without a number, any.
    pub capacity: Option<usize>,
}

/// What ends all connections at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The processes are killed: what they have written is there, flushed or not.
    Kill,
    /// The power is cut: of what was not flushed, nothing, everything or any of it is there, a sector and a name each for itself.
    PowerCut,
}

/// A simulated disk.
#[derive(Clone)]
pub struct Disk(Arc<Device>);

impl Disk {
    /// Places an empty disk below an existing folder. It is there until its last clone is dropped and its last file closed. SQLite's
    /// random numbers are the whole process's: of several disks at once, none is repeatable.
    pub fn mount(folder: &Path, seed: u64) -> io::Result<Self> {
        Ok(Self(vfs::mount(folder.canonicalize()?, seed)))
    }

    /// Sets the faults from now on; a disk begins without any.
    pub fn set_faults(&self, faults: Faults) {
        self.0.set_faults(faults);
    }

    /// Sets what is called for the time that a slow flush or SQLite's wait for a lock takes, which is simulated time.
    pub fn on_pause(&self, on_pause: impl Fn(Duration) + Send + Sync + 'static) {
        self.0.set_on_pause(Arc::new(on_pause));
    }

    /// Returns how many bytes all files have together, as a capacity counts them.
    pub fn used(&self) -> usize {
        self.0.used()
    }

    /// Returns how many changes there were: writes, truncations, flushes, new names and deleted ones.
    pub fn changes(&self) -> u64 {
        self.0.changes()
    }

    /// Returns whether a flush goes on.
    pub fn is_flushing(&self) -> bool {
        self.0.is_flushing()
    }

    /// Stops the machine after so many more changes, in the middle of a commit perhaps: every call fails from then on, until a crash
    /// starts it again.
    pub fn stop_after(&self, changes: u64) {
        self.0.stop_after(changes);
    }

    /// Returns whether the machine has stopped: whatever the server does from then on, it has not done.
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }

    /// Ends all connections, and leaves the disk as the next start finds it. The faults stay.
    pub fn crash(&self, crash: Crash) {
        self.0.crash(crash);
    }

    /// Returns the files by their full names, as processes read them.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.0.files()
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Disk").finish_non_exhaustive()
    }
}
