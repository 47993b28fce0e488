//! The disk as SQLite's connections see it: open files, and the faults that the seed orders.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use rusqlite::ffi;

use crate::file::{File, SECTOR};
use crate::folder::{FileId, Folder};
use crate::locks::{HandleId, Locks, SharedMemory};
use crate::random::Random;
use crate::{Code, Crash, Faults};

/// SQLite's index of the log grows by regions of this size.
const REGION: usize = 32 * 1024;
const MILLION: u64 = 1_000_000;

type OnPause = Arc<dyn Fn(Duration) + Send + Sync>;

/// A disk below a folder.
pub struct Device {
    folder: PathBuf,
    state: Mutex<State>,
    on_pause: Mutex<Option<OnPause>>,
}

struct State {
    random: Random,
    faults: Faults,
    folder: Folder,
    files: BTreeMap<FileId, OpenedFile>,
    handles: HandleId,
    /// The number of this start of the machine: no handle works longer.
    start: u64,
    changes: u64,
    /// How many flushes have begun and not ended.
    flushing: usize,
    stops_at: Option<u64>,
    is_stopped: bool,
}

#[derive(Default)]
struct OpenedFile {
    file: File,
    locks: Locks,
    shared_memory: Weak<SharedMemory>,
    handles: usize,
}

/// An open file of a process.
pub struct Handle {
    device: Arc<Device>,
    name: String,
    file: FileId,
    id: HandleId,
    start: u64,
    /// The first flush of a log that was created flushes its name, too.
    flushes_folder: bool,
    is_deleted_on_close: bool,
    shared_memory: Option<Arc<SharedMemory>>,
}

impl Device {
    pub fn new(folder: PathBuf, seed: u64) -> Self {
        let state = State {
            random: Random(seed),
            faults: Faults::default(),
            folder: Folder::default(),
            files: BTreeMap::new(),
            handles: 0,
            start: 0,
            changes: 0,
            flushing: 0,
            stops_at: None,
            is_stopped: false,
        };
        Self { folder, state: Mutex::new(state), on_pause: Mutex::default() }
    }

    pub fn holds(&self, name: &str) -> bool {
        Path::new(name).starts_with(&self.folder)
    }

    /// Opens a file by its full name.
    pub fn open(self: &Arc<Self>, name: &str, flags: c_int) -> Result<Handle, Code> {
        let mut state = self.state();
        if state.is_stopped {
            return Err(ffi::SQLITE_CANTOPEN);
        }
        let creates = flags & ffi::SQLITE_OPEN_CREATE != 0;
        let is_only_mine = creates && flags & ffi::SQLITE_OPEN_EXCLUSIVE != 0;
        let is_log = flags
            & (ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL)
            != 0;
        let file = match (state.find(name), creates) {
            (Some(_), _) if is_only_mine => return Err(ffi::SQLITE_CANTOPEN),
            (Some(file), _) => file,
            (None, true) => {
                state.begin_change()?;
                let file = state.add(File::default());
                state.folder.set(name, Some(file));
                file
            }
            (None, false) => return Err(ffi::SQLITE_CANTOPEN),
        };
        state.handles += 1;
        state.opened(file).handles += 1;
        Ok(Handle {
            device: Arc::clone(self),
            name: name.to_owned(),
            file,
            id: state.handles,
            start: state.start,
            flushes_folder: creates && is_log,
            is_deleted_on_close: flags & ffi::SQLITE_OPEN_DELETEONCLOSE != 0,
            shared_memory: None,
        })
    }

    /// Takes a name away.
    pub fn delete(&self, name: &str, flushes: bool) -> Result<(), Code> {
        let mut state = self.state();
        state.begin_change()?;
        if state.folder.find(name).is_none() {
            return Err(ffi::SQLITE_IOERR_DELETE_NOENT);
        }
        state.folder.set(name, None);
        if flushes {
            if state.happens(|faults| faults.flush_errors) {
                return Err(ffi::SQLITE_IOERR_DIR_FSYNC);
            }
            state.folder.flush();
        }
        Ok(())
    }

    /// Returns whether there is a file. For SQLite, an empty one that is only looked for counts as absent.
    pub fn has(&self, name: &str, flags: c_int) -> Result<bool, Code> {
        let mut state = self.state();
        if state.is_stopped {
            return Err(ffi::SQLITE_IOERR_ACCESS);
        }
        let found = state.find(name);
        let is_empty = |file| state.files[&file].file.content().is_empty();
        Ok(found.is_some_and(|file| flags != ffi::SQLITE_ACCESS_EXISTS || !is_empty(file)))
    }

    pub fn set_faults(&self, faults: Faults) {
        self.state().faults = faults;
    }

    pub fn set_on_pause(&self, on_pause: OnPause) {
        *self.on_pause.lock().expect("no holder panics") = Some(on_pause);
    }

    /// Tells the caller's time to pass.
    pub fn pause(&self, time: Duration) {
        let on_pause = self.on_pause.lock().expect("no holder panics").clone();
        if let Some(on_pause) = on_pause {
            on_pause(time);
        }
    }

    pub fn used(&self) -> usize {
        self.state().used()
    }

    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    pub fn is_flushing(&self) -> bool {
        self.state().flushing > 0
    }

    pub fn stop_after(&self, changes: u64) {
        let mut state = self.state();
        state.stops_at = Some(state.changes + changes + 1);
    }

    pub fn is_stopped(&self) -> bool {
        self.state().is_stopped
    }

    /// Ends the processes, or the machine, and starts again.
    pub fn crash(&self, crash: Crash) {
        let mut state = self.state();
        let State { random, folder, files, .. } = &mut *state;
        if crash == Crash::PowerCut {
            folder.cut_power(random);
            for opened in files.values_mut() {
                opened.file.cut_power(random);
            }
        }
        files.retain(|id, _| folder.may_name(*id));
        for opened in files.values_mut() {
            opened.locks.clear();
            opened.shared_memory = Weak::new();
            opened.handles = 0;
        }
        state.start += 1;
        state.flushing = 0;
        state.stops_at = None;
        state.is_stopped = false;
    }

    /// Returns what processes would read.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        let content = |file: FileId| state.files[&file].file.content().to_vec();
        state.folder.names().map(|(name, file)| (name.to_owned(), content(file))).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }
}

impl State {
    /// Finds a file. One that a process has made without SQLite is on the disk from then on, flushed.
    fn find(&mut self, name: &str) -> Option<FileId> {
        if let Some(file) = self.folder.find(name) {
            return Some(file);
        }
        let file = self.add(File::flushed(fs::read(name).ok()?));
        self.folder.set(name, Some(file));
        self.folder.flush();
        Some(file)
    }

    fn add(&mut self, file: File) -> FileId {
        let id = self.files.keys().next_back().map_or(0, |last| last + 1);
        self.files.insert(id, OpenedFile { file, ..OpenedFile::default() });
        id
    }

    /// Counts a change, or stops the machine before it.
    fn begin_change(&mut self) -> Result<(), Code> {
        self.changes += 1;
        self.is_stopped |= self.stops_at.is_some_and(|stop| stop <= self.changes);
        if self.is_stopped { Err(ffi::SQLITE_IOERR) } else { Ok(()) }
    }

    fn happens(&mut self, per_million: impl Fn(&Faults) -> u64) -> bool {
        let per_million = per_million(&self.faults);
        per_million > 0 && self.random.below(MILLION) < per_million
    }

    fn used(&self) -> usize {
        let used = self.folder.names().map(|(_, file)| {
            let opened = &self.files[&file];
            let shared = opened.shared_memory.upgrade().map_or(0, |memory| memory.regions() * REGION);
            opened.file.content().len() + shared
        });
        used.sum()
    }

    /// Returns how many bytes more fit.
    fn room(&self) -> usize {
        self.faults.capacity.map_or(usize::MAX, |capacity| capacity.saturating_sub(self.used()))
    }
}

impl Handle {
    /// Returns the state of a machine that runs, and the file.
    fn live(&self) -> Result<MutexGuard<'_, State>, Code> {
        let state = self.device.state();
        self.check_live(&state)?;
        Ok(state)
    }

    fn check_live(&self, state: &State) -> Result<(), Code> {
        if state.is_stopped || state.start != self.start { Err(ffi::SQLITE_IOERR) } else { Ok(()) }
    }

    /// Reads as much as there is.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<usize, Code> {
        let mut state = self.live()?;
        if state.happens(|faults| faults.read_errors) {
            return Err(ffi::SQLITE_IOERR_READ);
        }
        let content = state.files[&self.file].file.content();
        let there = content.get(offset..).unwrap_or_default();
        let read = there.len().min(bytes.len());
        bytes[..read].copy_from_slice(&there[..read]);
        Ok(read)
    }

    /// Writes all, or a part and fails; a machine that stops here has written a part, too.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), Code> {
        let mut state = self.live()?;
        let fails = state.begin_change().is_err() || state.happens(|faults| faults.write_errors);
        let room = state.room().saturating_add(state.content_length(self.file).saturating_sub(offset));
        let (fits, result) = if fails {
            let sectors = state.random.below(bytes.len().div_ceil(SECTOR).max(1) as u64);
            let before = usize::try_from(sectors).expect("an index") * SECTOR;
            (before.min(room), Err(ffi::SQLITE_IOERR_WRITE))
        } else if bytes.len() > room {
            (room, Err(ffi::SQLITE_FULL))
        } else {
            (bytes.len(), Ok(()))
        };
        if fits > 0 {
            state.file(self.file).write(offset, &bytes[..fits]);
        }
        result
    }

    /// Sets the length.
    pub fn truncate(&self, length: usize) -> Result<(), Code> {
        let mut state = self.live()?;
        state.begin_change()?;
        if state.happens(|faults| faults.write_errors) {
            return Err(ffi::SQLITE_IOERR_TRUNCATE);
        }
        state.file(self.file).truncate(length);
        Ok(())
    }

    /// Flushes the file, and its name if it is new. What others write during a slow flush is not flushed, and if the power is cut
    /// meanwhile nothing is.
    pub fn flush(&mut self) -> Result<(), Code> {
        let mut state = self.live()?;
        state.begin_change()?;
        let slow = state.happens(|faults| faults.slow_flushes).then(|| {
            let most = u64::try_from(state.faults.slowest_flush.as_micros()).unwrap_or(u64::MAX);
            Duration::from_micros(state.random.below(most.saturating_add(1)))
        });
        let fails = state.happens(|faults| faults.flush_errors);
        let changes = state.file(self.file).changes();
        state.flushing += 1;
        drop(state);
        if let Some(slow) = slow {
            self.device.pause(slow);
        }
        let device = Arc::clone(&self.device);
        let mut state = device.state();
        self.check_live(&state)?;
        state.flushing -= 1;
        let State { random, folder, files, .. } = &mut *state;
        let file = &mut files.get_mut(&self.file).expect("an open file").file;
        if fails {
            file.fail_to_flush(random);
            return Err(ffi::SQLITE_IOERR_FSYNC);
        }
        file.flush(changes);
        if std::mem::take(&mut self.flushes_folder) {
            folder.flush();
        }
        Ok(())
    }

    pub fn length(&self) -> Result<usize, Code> {
        Ok(self.live()?.content_length(self.file))
    }

    pub fn lock(&self, level: c_int) -> Result<(), Code> {
        self.live()?.opened(self.file).locks.raise(self.id, level)
    }

    /// Lowers the level; after a crash there is nothing to unlock.
    pub fn unlock(&self, level: c_int) {
        if let Ok(mut state) = self.live() {
            state.opened(self.file).locks.lower(self.id, level);
        }
    }

    pub fn is_reserved(&self) -> Result<bool, Code> {
        Ok(self.live()?.opened(self.file).locks.is_reserved())
    }

    /// Returns a region of the shared memory, or none if it is missing.
    pub fn map(&mut self, region: usize, bytes: usize, extends: bool) -> Result<Option<NonNull<u64>>, Code> {
        let mut state = self.device.state();
        if state.start != self.start || state.is_stopped {
            return Err(ffi::SQLITE_IOERR_SHMMAP);
        }
        let opened = state.opened(self.file);
        let memory = self.shared_memory.get_or_insert_with(|| {
            let memory = opened.shared_memory.upgrade().unwrap_or_default();
            opened.shared_memory = Arc::downgrade(&memory);
            memory
        });
        if extends && memory.regions() <= region && state.room() < bytes {
            return Err(ffi::SQLITE_IOERR_SHMSIZE);
        }
        Ok(memory.map(region, bytes, extends))
    }

    pub fn lock_shared_memory(&self, slots: Range<u32>, is_exclusive: bool) -> Result<(), Code> {
        drop(self.live()?);
        let memory = self.shared_memory.as_ref().ok_or(ffi::SQLITE_IOERR_SHMLOCK)?;
        memory.lock(self.id, slots, is_exclusive)
    }

    pub fn unlock_shared_memory(&self, slots: Range<u32>) {
        if let Some(memory) = &self.shared_memory {
            memory.unlock(self.id, slots);
        }
    }

    pub fn unmap(&mut self) {
        self.unlock_shared_memory(0..u32::try_from(ffi::SQLITE_SHM_NLOCK).expect("a few"));
        self.shared_memory = None;
    }

    pub fn close(mut self) {
        self.unmap();
        self.unlock(ffi::SQLITE_LOCK_NONE);
        // After a crash the file has no handle that could be closed.
        let Ok(mut state) = self.live() else { return };
        if self.is_deleted_on_close && state.folder.find(&self.name) == Some(self.file) {
            state.folder.set(&self.name, None);
        }
        let opened = state.opened(self.file);
        opened.handles -= 1;
        if opened.handles == 0 && !state.folder.may_name(self.file) {
            state.files.remove(&self.file);
        }
    }
}

impl State {
    fn opened(&mut self, file: FileId) -> &mut OpenedFile {
        self.files.get_mut(&file).expect("an open file stays until a crash")
    }

    fn file(&mut self, file: FileId) -> &mut File {
        &mut self.opened(file).file
    }

    fn content_length(&self, file: FileId) -> usize {
        self.files[&file].file.content().len()
    }
}
