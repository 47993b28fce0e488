//! A disk that forgets what was not flushed, and fails on demand: `disk.c`, preloaded into the program. Linux only.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, UNIX_EPOCH};

use crate::harness::process::pause;
use crate::harness::random::Random;
use crate::harness::skipped::skipped;

const MISSING: &str = "cc is not installed, or this is not Linux, so the tests on it are skipped: no disk fails, no power is \
                       cut and no clock is wrong (apt-get install build-essential).\n";
/// How long a flush that is to hang may take to begin: far longer than it does on a busy machine.
const HANGS_WITHIN: Duration = Duration::from_mins(1);
/// The size that a disk writes in one piece.
const SECTOR: usize = 512;

/// A mode of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// It works.
    Work,
    /// ENOSPC for calls that make a file longer.
    BeFull,
    /// EIO for writes.
    FailToWrite,
    /// EIO for flushes; the pages count as clean afterwards.
    FailToFlush,
    /// EROFS for writes, and for opening a file to write.
    BeReadOnly,
    /// Flushes never return.
    HangInFlush,
}

impl Order {
    fn text(self) -> &'static str {
        match self {
            Self::Work => "",
            Self::BeFull => "write 28\n",
            Self::FailToWrite => "write 5\n",
            Self::FailToFlush => "sync 5\n",
            Self::BeReadOnly => "write 30\nopen 30\n",
            Self::HangInFlush => "sync 0\n",
        }
    }
}

/// Which of the writes that were not flushed are on the disk after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerCutMode {
    /// Not a byte, and no name.
    Nothing,
    /// Of each file any of its sectors, of each folder its names or those it had.
    Anything,
}

/// Compiles a library of this folder that is preloaded into the program. None where no program can be told to use it.
pub fn preloaded(source: &str, folder: &Path) -> Option<PathBuf> {
    let library = folder.join(source).with_extension("so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults").join(source);
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).args(["-ldl", "-lpthread"]);
    match compile.status() {
        Ok(status) if cfg!(target_os = "linux") => assert!(status.success(), "{}", source.display()),
        Ok(_) | Err(_) => {
            skipped(MISSING).unwrap_or_else(|missing| panic!("{missing}"));
            return None;
        }
    }
    Some(library)
}

/// The disk below a folder's `data`.
pub struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// Makes it. None where no program can be told to use it.
    pub fn below(folder: &Path) -> Option<Self> {
        preloaded("disk.c", folder)?;
        let disk = Self { folder: folder.to_owned() };
        fs::create_dir(disk.path("data")).unwrap();
        disk.is_blank();
        Some(disk)
    }

    /// Lets a program's data lie on it.
    pub fn lies_below(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", self.path("disk.so"))
            .env("FAULTS_DATA", self.path("data"))
            .env("FAULTS_DURABLE", self.path("durable"))
            .env("FAULTS_ORDERS", self.path("orders"));
    }

    /// Sets its mode.
    pub fn order(&self, order: Order) {
        // Of an earlier flush, if there was one.
        let _ = fs::remove_file(self.path("durable/hangs"));
        fs::write(self.path("fresh"), order.text()).unwrap();
        fs::rename(self.path("fresh"), self.path("orders")).unwrap();
    }

    /// Waits until a flush hangs.
    #[track_caller]
    pub fn waits_for_hanging_flush(&self) {
        let began = Instant::now();
        while !self.path("durable/hangs").exists() {
            assert!(began.elapsed() < HANGS_WITHIN, "no flush hangs");
            pause(Duration::from_millis(10));
        }
    }

    /// Cuts the power. No process may use the disk; afterwards its files are those that were left, all flushed.
    pub fn cut(&self, survives: PowerCutMode, random: &mut Random) {
        self.order(Order::Work);
        let live = Found::below(&self.path("data"));
        let left = self.path("left");
        fs::create_dir(&left).unwrap();
        let root = id(&self.path("data"));
        self.leave(&root, &left, &live, survives, random);
        fs::remove_dir_all(self.path("data")).unwrap();
        fs::rename(&left, self.path("data")).unwrap();
        fs::remove_dir_all(self.path("durable")).unwrap();
        self.is_blank();
        self.keep(&self.path("data"));
    }

    /// Returns what is left of a folder.
    fn leave(&self, folder: &str, left: &Path, live: &Found, survives: PowerCutMode, random: &mut Random) {
        let mut torn = || survives == PowerCutMode::Anything && random.below(2) == 0;
        let names = match live.names.get(folder).filter(|_| torn()) {
            Some(names) => names.clone(),
            None => fs::read_to_string(self.path("durable/names").join(folder)).unwrap_or_default(),
        };
        for line in names.lines() {
            let [kind, id, name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let left = left.join(name);
            if kind == "d" {
                fs::create_dir(&left).unwrap();
                self.leave(id, &left, live, survives, random);
            } else {
                let flushed = fs::read(self.path("durable/content").join(id)).unwrap_or_default();
                let written = live.files.get(id).filter(|_| survives == PowerCutMode::Anything);
                let content =
                    written.map_or(flushed.clone(), |file| mixed(&flushed, &fs::read(file).unwrap(), random));
                fs::write(&left, content).unwrap();
            }
        }
    }

    /// Counts all files as flushed.
    fn keep(&self, folder: &Path) {
        let found = Found::below(folder);
        for (id, names) in &found.names {
            fs::write(self.path("durable/names").join(id), names).unwrap();
        }
        for (id, file) in &found.files {
            fs::copy(file, self.path("durable/content").join(id)).unwrap();
        }
    }

    fn is_blank(&self) {
        for part in ["durable/content", "durable/names"] {
            fs::create_dir_all(self.path(part)).unwrap();
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Any sectors of what was written, in what was flushed; it may be as long as either.
fn mixed(flushed: &[u8], written: &[u8], random: &mut Random) -> Vec<u8> {
    let length = if random.below(2) == 0 { flushed.len() } else { written.len() };
    let mut content = flushed.to_vec();
    content.resize(length, 0);
    // All of them, a beginning, or any.
    let beginning = random.below(1 + length.div_ceil(SECTOR) as u64);
    let how = random.below(3);
    for (sector, (left, new)) in content.chunks_mut(SECTOR).zip(written.chunks(SECTOR)).enumerate() {
        let survives = match how {
            0 => true,
            1 => (sector as u64) < beginning,
            _ => random.below(2) == 0,
        };
        if survives {
            let both = left.len().min(new.len());
            left[..both].copy_from_slice(&new[..both]);
        }
    }
    content
}

/// Inode and birth, as `disk.c` has them.
fn id(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;

    let found = fs::symlink_metadata(path).unwrap();
    let born =
        found.created().map_or_else(|_| Duration::ZERO, |born| born.duration_since(UNIX_EPOCH).unwrap());
    format!("{}.{}.{}", found.ino(), born.as_secs(), born.subsec_nanos())
}

/// Files and folders as they are, by their ids.
#[derive(Default)]
struct Found {
    files: BTreeMap<String, PathBuf>,
    /// The lines of each folder.
    names: BTreeMap<String, String>,
}

impl Found {
    fn below(folder: &Path) -> Self {
        let mut found = Self::default();
        found.walk(folder);
        found
    }

    fn walk(&mut self, folder: &Path) {
        let mut names = String::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let (id, name) = (id(&path), path.file_name().unwrap().to_str().unwrap().to_owned());
            let kind = if path.is_dir() { 'd' } else { 'f' };
            writeln!(names, "{kind} {id} {name}").unwrap();
            if path.is_dir() {
                self.walk(&path);
            } else {
                self.files.insert(id, path);
            }
        }
        self.names.insert(id(folder), names);
    }
}
