//! The locks of a file, and the memory that its connections share: the index of the write-ahead log.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Mutex;

use rusqlite::ffi;

use crate::Code;

/// An open file.
pub type HandleId = u64;

/// The locks of a database file, by SQLite's levels.
#[derive(Default)]
pub struct Locks(BTreeMap<HandleId, c_int>);

impl Locks {
    /// Raises the level of a handle, or refuses.
    pub fn raise(&mut self, handle: HandleId, level: c_int) -> Result<(), Code> {
        let own = self.level(handle);
        if own >= level {
            return Ok(());
        }
        let others = self.others(handle);
        let (result, got) = match level {
            ffi::SQLITE_LOCK_SHARED if others >= ffi::SQLITE_LOCK_PENDING => (Err(ffi::SQLITE_BUSY), own),
            ffi::SQLITE_LOCK_SHARED => (Ok(()), level),
            _ if others >= ffi::SQLITE_LOCK_RESERVED => (Err(ffi::SQLITE_BUSY), own),
            // Readers may end, and no new ones begin.
            ffi::SQLITE_LOCK_EXCLUSIVE if others > ffi::SQLITE_LOCK_NONE => {
                (Err(ffi::SQLITE_BUSY), ffi::SQLITE_LOCK_PENDING)
            }
            _ => (Ok(()), level),
        };
        self.lower(handle, got);
        result
    }

    /// Sets the level of a handle.
    pub fn lower(&mut self, handle: HandleId, level: c_int) {
        if level == ffi::SQLITE_LOCK_NONE {
            self.0.remove(&handle);
        } else {
            self.0.insert(handle, level);
        }
    }

    /// Returns whether a connection is about to write.
    pub fn is_reserved(&self) -> bool {
        self.0.values().any(|level| *level >= ffi::SQLITE_LOCK_RESERVED)
    }

    /// Unlocks everything, as the end of a process does.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn level(&self, handle: HandleId) -> c_int {
        self.0.get(&handle).copied().unwrap_or(ffi::SQLITE_LOCK_NONE)
    }

    fn others(&self, handle: HandleId) -> c_int {
        let others = self.0.iter().filter(|(other, _)| **other != handle).map(|(_, level)| *level);
        others.max().unwrap_or(ffi::SQLITE_LOCK_NONE)
    }
}

/// Memory that stays where it is. SQLite alone reads and writes it.
struct Region(UnsafeCell<Box<[u64]>>);

// SAFETY: nothing here reads or writes the words, and SQLite orders its own accesses by locks and barriers.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

/// The memory that the connections to a file share, and its locks. It begins empty, as after the last connection has gone.
#[derive(Default)]
pub struct SharedMemory {
    regions: Mutex<Vec<Region>>,
    locked: Mutex<BTreeMap<HandleId, SlotLocks>>,
}

/// What a handle holds of the locks, a bit each.
#[derive(Default, Clone, Copy)]
struct SlotLocks {
    shared: u32,
    exclusive: u32,
}

impl SharedMemory {
    /// Returns the number of regions.
    pub fn regions(&self) -> usize {
        self.regions.lock().expect("no holder panics").len()
    }

    /// Returns a region; adds missing ones if `extends`.
    pub fn map(&self, index: usize, bytes: usize, extends: bool) -> Option<NonNull<u64>> {
        let mut regions = self.regions.lock().expect("no holder panics");
        while extends && regions.len() <= index {
            regions.push(Region(UnsafeCell::new(vec![0; bytes / size_of::<u64>()].into())));
        }
        let region = regions.get(index)?;
        // SAFETY: under the mutex, this is the only reference to the box; that to its words ends with this expression.
        NonNull::new(unsafe { (*region.0.get()).as_mut_ptr() })
    }

    /// Locks slots, or refuses.
    pub fn lock(&self, handle: HandleId, slots: Range<u32>, is_exclusive: bool) -> Result<(), Code> {
        let mask = mask(slots);
        let mut locked = self.locked.lock().expect("no holder panics");
        let in_the_way = |held: &SlotLocks| held.exclusive | if is_exclusive { held.shared } else { 0 };
        let mut others = locked.iter().filter(|(other, _)| **other != handle);
        if others.any(|(_, held)| in_the_way(held) & mask != 0) {
            return Err(ffi::SQLITE_BUSY);
        }
        let held = locked.entry(handle).or_default();
        if is_exclusive {
            held.exclusive |= mask;
        } else {
            held.shared |= mask;
        }
        Ok(())
    }

    /// Unlocks slots.
    pub fn unlock(&self, handle: HandleId, slots: Range<u32>) {
        let mask = mask(slots);
        if let Some(held) = self.locked.lock().expect("no holder panics").get_mut(&handle) {
            held.shared &= !mask;
            held.exclusive &= !mask;
        }
    }
}

fn mask(slots: Range<u32>) -> u32 {
    slots.fold(0, |mask, slot| mask | 1 << slot)
}
