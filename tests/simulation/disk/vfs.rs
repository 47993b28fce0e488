//! The disk as a file system of SQLite's: the default one, which hands on whatever lies on no simulated disk to the one before.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::size_of;
use std::ops::Range;
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs};

use crate::Code;
use crate::device::{Device, Handle};
use crate::random::Random;

const NAME: &CStr = c"simulated";

/// The file system of the machine.
struct Machine(*mut sqlite3_vfs);

// SAFETY: SQLite never frees it, and it may be called on any thread.
unsafe impl Send for Machine {}
// SAFETY: as above.
unsafe impl Sync for Machine {}

static MACHINE: OnceLock<Machine> = OnceLock::new();
static MOUNTED: Mutex<Vec<Weak<Device>>> = Mutex::new(Vec::new());
static RANDOM: Mutex<Random> = Mutex::new(Random(0));

/// Places a disk below a folder, as long as the disk or a file on it is used. From then on SQLite's random numbers, which are in the
/// header of its log, come from the seed.
pub fn mount(folder: PathBuf, seed: u64) -> Arc<Device> {
    MACHINE.get_or_init(register);
    RANDOM.lock().expect("no holder panics").0 = seed;
    // SAFETY: with neither bytes nor a buffer the function only forgets its state.
    unsafe { ffi::sqlite3_randomness(0, null_mut()) };
    let device = Arc::new(Device::new(folder, seed));
    let mut mounted = mounted();
    mounted.retain(|device| device.strong_count() > 0);
    mounted.push(Arc::downgrade(&device));
    device
}

fn register() -> Machine {
    // SAFETY: SQLite always has a file system, and a file system is plain data that may be copied: its functions take what belongs to it
    // from nowhere else. The copy is never freed.
    unsafe {
        let machine = ffi::sqlite3_vfs_find(null());
        let own = sqlite3_vfs {
            szOsFile: (*machine).szOsFile.max(c_int::try_from(size_of::<OpenFile>()).expect("small")),
            pNext: null_mut(),
            zName: NAME.as_ptr(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xRandomness: Some(randomness),
            xSleep: Some(pause),
            ..*machine
        };
        let registered = ffi::sqlite3_vfs_register(Box::into_raw(Box::new(own)), 1);
        assert_eq!(registered, ffi::SQLITE_OK, "SQLite takes the file system");
        Machine(machine)
    }
}

fn mounted() -> MutexGuard<'static, Vec<Weak<Device>>> {
    MOUNTED.lock().expect("no holder panics")
}

fn machine() -> *mut sqlite3_vfs {
    MACHINE.get().map_or(null_mut(), |machine| machine.0)
}

/// Finds the disk on which a name lies.
///
/// # Safety
///
/// The name is null or a string that ends with a null byte.
unsafe fn find<'a>(name: *const c_char) -> Option<(Arc<Device>, &'a str)> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_str().ok()?;
    let device = mounted().iter().filter_map(Weak::upgrade).find(|device| device.holds(name))?;
    Some((device, name))
}

/// A file as SQLite holds it; its size is `szOsFile`, or less.
#[repr(C)]
struct OpenFile {
    base: sqlite3_file,
    handle: *mut Handle,
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(flush),
    xFileSize: Some(length),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(map),
    xShmLock: Some(lock_shared_memory),
    xShmBarrier: Some(barrier),
    xShmUnmap: Some(unmap),
    xFetch: None,
    xUnfetch: None,
};

fn code(result: Result<(), Code>) -> c_int {
    result.err().unwrap_or(ffi::SQLITE_OK)
}

fn index(number: impl TryInto<usize>) -> usize {
    number.try_into().unwrap_or_else(|_| panic!("SQLite passes no negative sizes"))
}

// SAFETY of all functions below: SQLite calls them as its documentation of `sqlite3_vfs` and `sqlite3_io_methods` says. Names end with
// a null byte, results have a place, buffers are as long as their number says, and a file is one that `open` has filled; SQLite uses a
// file on one thread at a time.

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        let Some((device, name)) = find(name) else {
            let machine = machine();
            return (*machine)
                .xOpen
                .map_or(ffi::SQLITE_CANTOPEN, |open| open(machine, name, file, flags, flags_out));
        };
        // Without methods SQLite does not close it.
        (*file).pMethods = null();
        match device.open(name, flags) {
            Ok(handle) => {
                let handle = Box::into_raw(Box::new(handle));
                file.cast::<OpenFile>()
                    .write(OpenFile { base: sqlite3_file { pMethods: &raw const METHODS }, handle });
                if !flags_out.is_null() {
                    *flags_out = flags;
                }
                ffi::SQLITE_OK
            }
            Err(code) => code,
        }
    }
}

unsafe extern "C" fn delete(_: *mut sqlite3_vfs, name: *const c_char, flushes: c_int) -> c_int {
    // SAFETY: see above.
    unsafe {
        if let Some((device, name)) = find(name) {
            return code(device.delete(name, flushes != 0));
        }
        let machine = machine();
        (*machine).xDelete.map_or(ffi::SQLITE_IOERR_DELETE, |delete| delete(machine, name, flushes))
    }
}

unsafe extern "C" fn access(
    _: *mut sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    result: *mut c_int,
) -> c_int {
    // SAFETY: see above.
    unsafe {
        if let Some((device, name)) = find(name) {
            return code(device.has(name, flags).map(|has| *result = has.into()));
        }
        let machine = machine();
        (*machine).xAccess.map_or(ffi::SQLITE_IOERR_ACCESS, |access| access(machine, name, flags, result))
    }
}

unsafe extern "C" fn randomness(_: *mut sqlite3_vfs, length: c_int, bytes: *mut c_char) -> c_int {
    // SAFETY: see above.
    let bytes = unsafe { slice::from_raw_parts_mut(bytes.cast::<u8>(), index(length)) };
    let mut random = RANDOM.lock().expect("no holder panics");
    bytes.fill_with(|| u8::try_from(random.below(256)).expect("a byte"));
    length
}

/// SQLite waits for a lock; the time of the simulation passes.
unsafe extern "C" fn pause(_: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    let devices: Vec<_> = mounted().iter().filter_map(Weak::upgrade).collect();
    let time = Duration::from_micros(u64::try_from(microseconds).unwrap_or_default());
    for device in devices {
        device.pause(time);
    }
    microseconds
}

/// Returns the handle of an open file.
///
/// # Safety
///
/// `open` has filled the file, and nothing else uses it meanwhile.
unsafe fn handle<'a>(file: *mut sqlite3_file) -> &'a mut Handle {
    // SAFETY: the caller's promise.
    unsafe { &mut *(*file.cast::<OpenFile>()).handle }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: see above; `open` has made the box, and nothing uses a closed file.
    unsafe { Box::from_raw((*file.cast::<OpenFile>()).handle) }.close();
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    bytes: *mut c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: see above.
    let (handle, bytes) =
        unsafe { (handle(file), slice::from_raw_parts_mut(bytes.cast::<u8>(), index(length))) };
    match handle.read(index(offset), bytes) {
        Ok(read) if read == bytes.len() => ffi::SQLITE_OK,
        Ok(read) => {
            bytes[read..].fill(0);
            ffi::SQLITE_IOERR_SHORT_READ
        }
        Err(code) => code,
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: see above.
    let (handle, bytes) = unsafe { (handle(file), slice::from_raw_parts(bytes.cast::<u8>(), index(length))) };
    code(handle.write(index(offset), bytes))
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, length: sqlite3_int64) -> c_int {
    // SAFETY: see above.
    code(unsafe { handle(file) }.truncate(index(length)))
}

unsafe extern "C" fn flush(file: *mut sqlite3_file, _: c_int) -> c_int {
    // SAFETY: see above.
    code(unsafe { handle(file) }.flush())
}

unsafe extern "C" fn length(file: *mut sqlite3_file, result: *mut sqlite3_int64) -> c_int {
    // SAFETY: see above.
    let (handle, result) = unsafe { (handle(file), &mut *result) };
    code(handle.length().map(|length| *result = sqlite3_int64::try_from(length).expect("it is in memory")))
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    code(unsafe { handle(file) }.lock(level))
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: see above.
    unsafe { handle(file) }.unlock(level);
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, result: *mut c_int) -> c_int {
    // SAFETY: see above.
    let (handle, result) = unsafe { (handle(file), &mut *result) };
    code(handle.is_reserved().map(|is_reserved| *result = is_reserved.into()))
}

unsafe extern "C" fn control(_: *mut sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

/// The size that SQLite's own file system says.
unsafe extern "C" fn sector_size(_: *mut sqlite3_file) -> c_int {
    4096
}

/// What SQLite's own file system says: a write changes nothing beside it, even if the power is cut.
unsafe extern "C" fn characteristics(_: *mut sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE | ffi::SQLITE_IOCAP_SUBPAGE_READ
}

unsafe extern "C" fn map(
    file: *mut sqlite3_file,
    region: c_int,
    bytes: c_int,
    extends: c_int,
    result: *mut *mut c_void,
) -> c_int {
    // SAFETY: see above.
    let (handle, result) = unsafe { (handle(file), &mut *result) };
    *result = null_mut();
    let mapped = handle.map(index(region), index(bytes), extends != 0);
    code(mapped.map(|region| *result = region.map_or(null_mut(), |region| region.as_ptr().cast())))
}

unsafe extern "C" fn lock_shared_memory(
    file: *mut sqlite3_file,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: see above.
    let handle = unsafe { handle(file) };
    let slots: Range<u32> = first.unsigned_abs()..(first + count).unsigned_abs();
    if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
        handle.unlock_shared_memory(slots);
        return ffi::SQLITE_OK;
    }
    code(handle.lock_shared_memory(slots, flags & ffi::SQLITE_SHM_EXCLUSIVE != 0))
}

unsafe extern "C" fn barrier(_: *mut sqlite3_file) {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

unsafe extern "C" fn unmap(file: *mut sqlite3_file, _: c_int) -> c_int {
    // SAFETY: see above.
    unsafe { handle(file) }.unmap();
    ffi::SQLITE_OK
}
