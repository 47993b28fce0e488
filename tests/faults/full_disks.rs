//! A real disk that is full, under load: a small file system in memory, which only root can make.

use std::time::Duration;

use crate::harness::process::pause;
use crate::harness::small_disk::SmallDisk;
use crate::installation::Installation;
use crate::options::{Database, Options};
use crate::report::Report;
use crate::trial::Trial;

/// Begins a trial on a disk with room for all that is acknowledged in so many rounds.
pub fn on_a_small_disk(options: &Options, on: Database, rounds: u64) -> Option<(SmallDisk, Trial)> {
    let megabytes = match on {
        // Its log alone may have 16.
        Database::Sqlite => 16 + 16 * rounds,
        Database::Postgres => 192 + 64 * rounds,
    };
    let disk = SmallDisk::mount(megabytes)?;
    let trial = Trial::begin(Installation::below(disk.path(), on)?, options);
    Some((disk, trial))
}

/// `full-disks`: the disk below the data becomes full, and then has room again. `--rounds` (1).
pub fn run(options: &Options, on: Database) -> Option<Report> {
    let rounds = options.number("rounds", 1);
    let (disk, mut trial) = on_a_small_disk(options, on, rounds)?;
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
