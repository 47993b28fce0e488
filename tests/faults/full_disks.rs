//! A real disk that is full, under load: a small file system in memory, which only root can make.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::harness::process::pause;
use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::report::Report;
use crate::trial::Trial;

/// `full-disks`: the disk below the data becomes full, and then has room again. `--rounds` (1).
pub fn run(options: &Options, on: Database) -> Option<Report> {
    let rounds = options.number("rounds", 1);
    // What is acknowledged in all rounds must have room.
    let megabytes = match on {
        Database::Sqlite => 16 * rounds,
        Database::Postgres => 192 + 64 * rounds,
    };
    let Some(disk) = Small::of(megabytes) else {
        eprintln!("full-disks has nothing to do: only root can mount a file system");
        return None;
    };
    let mut trial = Trial::begin(Installation::below(disk.folder.path(), on)?, options);
    for _ in 0..rounds {
        trial.go_on();
        let errors = trial.server_errors();
        disk.fill();
        trial.failed();
        trial.waits_until(|trial| trial.server_errors() > errors + 16);
        disk.empty();
        let promises = trial.promises();
        // A PostgreSQL that could not write its log has ended, and is its operator's to start.
        for _ in 0..100 {
            if trial.promises() > promises + 16 {
                break;
            }
            pause(Duration::from_millis(100));
        }
        if on == Database::Postgres && trial.promises() <= promises + 16 {
            trial.installation.crash_database();
        }
        trial.waits_until(|trial| trial.promises() > promises + 16);
        trial.look();
    }
    Some(trial.end())
}

/// A small file system.
struct Small {
    folder: tempfile::TempDir,
}

impl Small {
    fn of(megabytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &format!("size={megabytes}m,mode=1777"), "tmpfs"])
            .arg(folder.path());
        mount.output().is_ok_and(|mounted| mounted.status.success()).then_some(Self { folder })
    }

    /// To the last byte.
    fn fill(&self) {
        let mut ballast = fs::File::create(self.ballast()).unwrap();
        let mut part = vec![0; 1 << 20];
        while !part.is_empty() {
            if ballast.write_all(&part).is_err() {
                part.truncate(part.len() / 2);
            }
        }
    }

    fn empty(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.folder.path().join("ballast")
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let unmount = |path: &Path| Command::new("umount").arg("-l").arg(path).status();
        drop(unmount(self.folder.path()));
    }
}
