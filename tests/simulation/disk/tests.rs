//! What the disk keeps, what it forgets, and how it fails, below SQLite itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use tempfile::TempDir;

use crate::file::{File, SECTOR};
use crate::random::Random;
use crate::{Crash, Disk, Faults};

/// As the store opens its database.
const LOG: &str = "PRAGMA journal_mode = wal; PRAGMA synchronous = FULL";
/// With the folder flushed, too: otherwise SQLite does not promise a commit.
const JOURNAL: &str = "PRAGMA journal_mode = delete; PRAGMA synchronous = EXTRA";
const EVERY: u64 = 1_000_000;

/// SQLite's random numbers are the process's, so each test has it for itself.
static ALONE: Mutex<()> = Mutex::new(());

/// A machine with a disk, and a database on it.
struct Machine {
    disk: Disk,
    file: PathBuf,
    settings: &'static str,
    _folder: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Machine {
    fn new(seed: u64, settings: &'static str) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = TempDir::new().unwrap();
        let file = folder.path().canonicalize().unwrap().join("shop.db");
        fs::write(&file, "").unwrap();
        let disk = Disk::mount(folder.path(), seed).unwrap();
        Self { disk, file, settings, _folder: folder, _alone: alone }
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.file, flags)?;
        connection.execute_batch(self.settings)?;
        connection.execute_batch(
            "PRAGMA wal_autocheckpoint = 8; PRAGMA cache_size = 4; \
             CREATE TABLE IF NOT EXISTS charges (id INTEGER PRIMARY KEY, card BLOB NOT NULL)",
        )?;
        Ok(connection)
    }

    /// Returns the bytes of each file, by its name in the folder.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let name = |file: String| Path::new(&file).file_name().unwrap().to_str().unwrap().to_owned();
        self.disk.files().into_iter().map(|(file, bytes)| (name(file), bytes)).collect()
    }

    fn fails(&self, faults: Faults) {
        self.disk.set_faults(faults);
    }
}

fn charge(connection: &Connection, id: u64) -> rusqlite::Result<()> {
    let card = vec![u8::try_from(id % 251).unwrap(); 3000];
    connection.execute("INSERT INTO charges VALUES (?, ?)", (id.cast_signed(), card)).map(drop)
}

fn charges(connection: &Connection) -> rusqlite::Result<Vec<u64>> {
    let mut select = connection.prepare("SELECT id FROM charges ORDER BY id")?;
    select.query_map([], |row| row.get(0).map(i64::cast_unsigned))?.collect()
}

fn is_sound(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA integrity_check", [], |row| Ok(row.get::<_, String>(0)? == "ok"))
}

/// Charges until the machine stops at a change that the seed chooses, ends as `crash`, and starts again; over and over. Returns how many
/// commits were lost though they were acknowledged, or `None` if the database was damaged.
fn charge_and_crash(machine: &Machine, seed: u64, crash: Crash) -> Option<usize> {
    let mut random = Random(seed);
    let (mut acknowledged, mut next, mut lost) = (Vec::new(), 1, 0);
    for _ in 0..8 {
        machine.disk.stop_after(random.below(60));
        if let Ok(connection) = machine.open() {
            while !machine.disk.is_stopped() {
                match charge(&connection, next) {
                    Ok(()) => acknowledged.push(next),
                    Err(_) => assert!(machine.disk.is_stopped(), "nothing else fails"),
                }
                next += 1;
            }
        }
        machine.disk.crash(crash);
        let found = machine.open().and_then(|connection| Ok((charges(&connection)?, is_sound(&connection)?)));
        let Ok((found, true)) = found else { return None };
        let before = acknowledged.len();
        acknowledged.retain(|id| found.contains(id));
        lost += before - acknowledged.len();
        // What was in doubt is there, or is not, from now on.
        acknowledged = found;
    }
    Some(lost)
}

#[test]
fn a_flushed_commit_outlives_every_cut_of_the_power() {
    for settings in [LOG, JOURNAL] {
        for seed in 0..100 {
            let machine = Machine::new(seed, settings);
            assert_eq!(charge_and_crash(&machine, seed, Crash::PowerCut), Some(0), "{settings}, seed {seed}");
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_even_unflushed() {
    const UNFLUSHED: &str = "PRAGMA journal_mode = wal; PRAGMA synchronous = OFF";
    for seed in 0..20 {
        let machine = Machine::new(seed, UNFLUSHED);
        assert_eq!(charge_and_crash(&machine, seed, Crash::Kill), Some(0), "seed {seed}");
    }
}

#[test]
fn without_flushes_the_disk_loses_commits_and_damages_databases() {
    const UNFLUSHED: &str = "PRAGMA journal_mode = wal; PRAGMA synchronous = OFF";
    let ends: Vec<_> =
        (0..40).map(|seed| charge_and_crash(&Machine::new(seed, UNFLUSHED), seed, Crash::PowerCut)).collect();
    assert!(ends.iter().any(|end| end.is_some_and(|lost| lost > 0)), "{ends:?}");
    assert!(ends.contains(&None), "{ends:?}");
}

#[test]
fn the_same_seed_and_the_same_calls_leave_the_same_bytes() {
    let run = |seed| {
        let machine = Machine::new(seed, LOG);
        let lost = charge_and_crash(&machine, 7, Crash::PowerCut);
        let connection = machine.open().unwrap();
        charge(&connection, 1000).unwrap();
        (lost, machine.disk.changes(), machine.files())
    };
    let first = run(1);
    assert!(first.2.contains_key("shop.db-wal") && first == run(1));
    assert!(first.2 != run(2).2);
}

#[test]
fn connections_share_a_log_and_wait_for_each_other() {
    let machine = Machine::new(1, LOG);
    let (writer, reader) = (machine.open().unwrap(), machine.open().unwrap());
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(charges(&reader).unwrap(), []);
    charge(&writer, 1).unwrap();
    assert_eq!(charges(&reader).unwrap(), [], "it reads as of its beginning");
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(charges(&reader).unwrap(), [1]);
    let waited = Arc::new(Mutex::new(Duration::ZERO));
    machine.disk.on_pause({
        let waited = Arc::clone(&waited);
        move |time| *waited.lock().unwrap() += time
    });
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    reader.busy_timeout(Duration::from_hours(1)).unwrap();
    let refused = charge(&reader, 2).unwrap_err();
    assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
    assert!(*waited.lock().unwrap() >= Duration::from_secs(3599), "an hour of simulated time");
    drop((writer, reader));
    assert_eq!(machine.files().into_keys().collect::<Vec<_>>(), ["shop.db"], "the last one ends the log");
    assert!(fs::read(&machine.file).unwrap().is_empty(), "the folder's file is as it was");
}

#[test]
fn files_outside_of_the_folder_are_the_machines() {
    let machine = Machine::new(1, LOG);
    let other = TempDir::new().unwrap();
    let connection = Connection::open(other.path().join("other.db")).unwrap();
    connection.execute_batch("CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1)").unwrap();
    assert!(fs::metadata(other.path().join("other.db")).unwrap().len() > 0);
    assert!(machine.files().is_empty());
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_room() {
    let machine = Machine::new(1, LOG);
    let connection = machine.open().unwrap();
    machine.fails(Faults { capacity: Some(machine.disk.used() + 100_000), ..Faults::default() });
    let refused = (1..100).find_map(|id| charge(&connection, id).err().map(|error| (id, error)));
    let (last, error) = refused.expect("the disk is full");
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull));
    assert_eq!(charges(&connection).unwrap(), (1..last).collect::<Vec<_>>(), "what is there can be read");
    machine.fails(Faults::default());
    charge(&connection, last).unwrap();
    assert!(is_sound(&connection).unwrap());
}

#[test]
fn a_disk_that_fails_at_times_breaks_no_promise() {
    let failing = [
        Faults { read_errors: 20_000, ..Faults::default() },
        Faults { write_errors: 20_000, ..Faults::default() },
        Faults { flush_errors: 50_000, ..Faults::default() },
    ];
    for faults in failing {
        let mut failures = 0;
        for seed in 0..60 {
            let machine = Machine::new(seed, LOG);
            let connection = machine.open().unwrap();
            machine.fails(faults);
            let mut acknowledged = Vec::new();
            for id in 1..100 {
                match charge(&connection, id) {
                    Ok(()) => acknowledged.push(id),
                    Err(_) => failures += 1,
                }
                failures += usize::from(charges(&connection).is_err());
            }
            machine.fails(Faults::default());
            // A flush that failed leaves a doubt only until the next one.
            charge(&connection, 1000).unwrap();
            machine.disk.crash(Crash::PowerCut);
            let connection = machine.open().unwrap();
            let found = charges(&connection).unwrap();
            assert!(is_sound(&connection).unwrap(), "seed {seed}: {faults:?}");
            let lost: Vec<_> = acknowledged.iter().filter(|id| !found.contains(id)).collect();
            assert!(lost.is_empty() && found.contains(&1000), "seed {seed}: {faults:?}: {lost:?}");
        }
        assert!(failures > 0, "{faults:?}");
    }
}

#[test]
fn a_slow_flush_takes_simulated_time() {
    let machine = Machine::new(1, LOG);
    let connection = machine.open().unwrap();
    let pauses = Arc::new(Mutex::new(Vec::new()));
    machine.disk.on_pause({
        let pauses = Arc::clone(&pauses);
        move |time| pauses.lock().unwrap().push(time)
    });
    charge(&connection, 1).unwrap();
    assert!(pauses.lock().unwrap().is_empty());
    let slowest_flush = Duration::from_secs(30);
    machine.fails(Faults { slow_flushes: EVERY, slowest_flush, ..Faults::default() });
    charge(&connection, 2).unwrap();
    let pauses = pauses.lock().unwrap();
    assert!(!pauses.is_empty() && pauses.iter().all(|time| *time <= slowest_flush));
}

#[test]
fn a_connection_of_before_a_crash_changes_nothing_any_more() {
    let machine = Machine::new(1, LOG);
    let killed = machine.open().unwrap();
    killed.execute_batch("BEGIN IMMEDIATE").unwrap();
    charge(&killed, 1).unwrap();
    machine.disk.crash(Crash::Kill);
    let connection = machine.open().unwrap();
    charge(&connection, 2).unwrap();
    let files = machine.files();
    assert!(killed.execute_batch("COMMIT").is_err());
    drop(killed);
    assert!(files == machine.files());
    assert_eq!(charges(&connection).unwrap(), [2]);
}

#[test]
fn a_sector_is_whole_and_a_write_of_several_may_be_torn() {
    let mut torn = 0;
    for seed in 0..200 {
        let mut file = File::flushed(vec![b'a'; 4 * SECTOR]);
        file.write(0, &[b'b'; 4 * SECTOR]);
        file.write(SECTOR / 2, &[b'c'; 4 * SECTOR]);
        file.cut_power(&mut Random(seed));
        let content = file.content();
        assert!(content.len() == 4 * SECTOR || content.len() == 4 * SECTOR + SECTOR / 2);
        let (mut first, half) = (content[..SECTOR].to_vec(), SECTOR / 2);
        first[half..].iter_mut().filter(|byte| **byte == b'c').for_each(|byte| *byte = b'b');
        let firsts = first.iter().chain(content[SECTOR..4 * SECTOR].iter()).copied().collect::<Vec<_>>();
        for sector in firsts.chunks(SECTOR) {
            assert!(sector.iter().all(|byte| *byte == sector[0]), "seed {seed}");
        }
        torn += usize::from(firsts.chunks(SECTOR).any(|sector| sector[0] != firsts[0]));
    }
    assert!(torn > 20, "{torn}");
}

#[test]
fn a_truncation_that_the_disk_has_not_seen_hides_what_was_written_after_it() {
    let mut ends = [0; 3];
    for seed in 0..200 {
        let mut file = File::flushed(vec![b'a'; 2 * SECTOR]);
        file.truncate(0);
        file.write(0, &[b'b'; SECTOR]);
        file.cut_power(&mut Random(seed));
        let content = file.content();
        let end = match content.len() {
            0 => 0,
            SECTOR if content.iter().all(|byte| *byte == b'b' || *byte == 0) => 1,
            _ if content == [b'a'; 2 * SECTOR] => 2,
            _ => panic!("seed {seed}: {content:?}"),
        };
        ends[end] += 1;
    }
    assert!(ends.iter().all(|times| *times > 0), "{ends:?}");
}

#[test]
fn a_failed_flush_leaves_pages_that_no_later_flush_writes() {
    let mut file = File::flushed(vec![b'a'; SECTOR]);
    let mut lost = false;
    for seed in 0..20 {
        file.write(0, &[b'b'; SECTOR]);
        file.fail_to_flush(&mut Random(seed));
        file.flush(file.changes());
        assert_eq!(file.content(), [b'b'; SECTOR], "processes still read it");
        file.cut_power(&mut Random(seed));
        lost |= file.content() == [b'a'; SECTOR];
        file.write(0, &[b'a'; SECTOR]);
        file.flush(file.changes());
    }
    assert!(lost);
}

#[test]
fn a_name_that_a_cut_of_the_power_gives_back_still_has_its_file() {
    for seed in 0..16 {
        let machine = Machine::new(seed, LOG);
        let connection = machine.open().unwrap();
        charge(&connection, 1).unwrap();
        // It deletes the log, and does not flush that.
        drop(connection);
        machine.disk.crash(Crash::Kill);
        machine.disk.crash(Crash::PowerCut);
        assert_eq!(charges(&machine.open().unwrap()).unwrap(), [1]);
    }
}

#[test]
fn what_is_written_during_a_slow_flush_is_lost_like_what_was_never_flushed() {
    let (mut kept, mut lost) = (0, 0);
    for seed in 0..40 {
        let mut file = File::flushed(vec![b'a'; 2 * SECTOR]);
        file.write(0, &[b'b'; SECTOR]);
        let begun = file.changes();
        file.write(SECTOR, &[b'c'; SECTOR]);
        file.flush(begun);
        file.cut_power(&mut Random(seed));
        assert_eq!(file.content()[..SECTOR], [b'b'; SECTOR], "seed {seed}");
        if file.content()[SECTOR] == b'c' { kept += 1 } else { lost += 1 }
    }
    assert!(kept > 0 && lost > 0, "{kept}, {lost}");
}

#[test]
fn a_power_cut_during_a_slow_flush_leaves_a_commit_that_nobody_was_told_of() {
    let (mut kept, mut lost) = (0, 0);
    for seed in 0..40 {
        let machine = Machine::new(seed, LOG);
        let connection = machine.open().unwrap();
        charge(&connection, 1).unwrap();
        machine.fails(Faults {
            slow_flushes: EVERY,
            slowest_flush: Duration::from_secs(1),
            ..Faults::default()
        });
        let disk = machine.disk.clone();
        machine.disk.on_pause(move |_| disk.crash(Crash::PowerCut));
        charge(&connection, 2).unwrap_err();
        machine.disk.on_pause(|_| {});
        let connection = machine.open().unwrap();
        assert!(is_sound(&connection).unwrap(), "seed {seed}");
        match charges(&connection).unwrap()[..] {
            [1] => lost += 1,
            [1, 2] => kept += 1,
            ref other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(kept > 0 && lost > 0, "{kept}, {lost}");
}

#[test]
fn a_machine_that_stops_within_a_write_has_written_a_part_of_it() {
    let mut parts = 0;
    for seed in 0..60 {
        let machine = Machine::new(seed, LOG);
        let connection = machine.open().unwrap();
        charge(&connection, 1).unwrap();
        let before = machine.files();
        // The second write of a commit is a page's.
        machine.disk.stop_after(1);
        charge(&connection, 2).unwrap_err();
        machine.disk.crash(Crash::Kill);
        let log = machine.files()["shop.db-wal"].len();
        let header = before["shop.db-wal"].len() + 24;
        assert!((header..header + 4096).contains(&log), "seed {seed}: {header}, {log}");
        parts += usize::from(log > header);
        let connection = machine.open().unwrap();
        assert_eq!(charges(&connection).unwrap(), [1]);
        assert!(is_sound(&connection).unwrap());
    }
    assert!(parts > 0);
}

#[test]
fn a_disk_that_was_full_takes_what_it_refused_even_after_a_crash() {
    for (seed, crash) in (0..40).flat_map(|seed| [(seed, Crash::Kill), (seed, Crash::PowerCut)]) {
        let machine = Machine::new(seed, LOG);
        let connection = machine.open().unwrap();
        machine.fails(Faults { capacity: Some(machine.disk.used() + 60_000), ..Faults::default() });
        let mut acknowledged: Vec<_> = (1..60).filter(|id| charge(&connection, *id).is_ok()).collect();
        assert!(acknowledged.len() < 59, "it is full");
        machine.disk.crash(crash);
        machine.fails(Faults::default());
        let connection = machine.open().unwrap();
        assert_eq!(charges(&connection).unwrap(), acknowledged, "seed {seed}, {crash:?}");
        for id in 60..120 {
            charge(&connection, id).unwrap();
            acknowledged.push(id);
        }
        assert_eq!(charges(&connection).unwrap(), acknowledged);
        assert!(is_sound(&connection).unwrap());
    }
}
