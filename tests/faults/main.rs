//! Servers, databases and disks that fail under load; what was acknowledged is there afterwards, once, with its money.
//!
//! `cargo test --test faults` runs the short form of each. `cargo test --test faults -- kills --rounds 100 --database
//! sqlite` runs one of them for longer; `--seed` repeats a run. Each prints one line for each database, and the programs
//! fail if anything was lost or done twice, or answered with a 5xx that is not documented.

// Tells clippy that all of this is test code: unwrap is allowed.
#![cfg(test)]

mod attackers;
mod clock;
mod disk;
mod disks;
mod distributed;
mod full_disks;
mod harness;
mod idle;
mod installation;
mod kills;
mod load;
mod moves;
mod neighbour;
mod nodes;
mod options;
mod payers;
mod power_cuts;
mod readers;
mod ready;
mod receiving;
mod report;
mod restores;
mod slow_bodies;
mod soak;
mod statistics;
mod trial;
mod truth;
mod waiters;
mod waits;
mod webhooks;

use std::process::ExitCode;
use std::thread::scope;

use options::{Database, Options};
use report::Report;

use self::Sharing::{AllPrograms, BothDatabases, Exclusive};

/// A program.
struct Fault {
    name: &'static str,
    on: &'static [Database],
    run: fn(&Options, Database) -> Option<Report>,
    sharing: Sharing,
}

/// What a program shares the machine with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// All programs of this kind: most of their time they wait.
    AllPrograms,
    /// Itself on the other database: it judges how long an answer takes, and waits most of the time.
    BothDatabases,
    /// Nothing: it takes the whole machine, or compares two times of its own.
    Exclusive,
}

/// A program on a database.
type Run = (&'static Fault, Database);

const BOTH: &[Database] = &[Database::Sqlite, Database::Postgres];
const SQLITE: &[Database] = &[Database::Sqlite];
const POSTGRES: &[Database] = &[Database::Postgres];

const FAULTS: &[Fault] = &[
    Fault { name: "kills", on: BOTH, run: kills::servers, sharing: AllPrograms },
    Fault { name: "database-kills", on: POSTGRES, run: kills::databases, sharing: AllPrograms },
    Fault { name: "moves", on: BOTH, run: moves::run, sharing: AllPrograms },
    Fault { name: "nodes", on: POSTGRES, run: nodes::run, sharing: AllPrograms },
    Fault { name: "power-cuts", on: SQLITE, run: power_cuts::run, sharing: AllPrograms },
    Fault { name: "disks", on: SQLITE, run: disks::run, sharing: AllPrograms },
    Fault { name: "disks --ready", on: BOTH, run: ready::run, sharing: AllPrograms },
    Fault { name: "full-disks", on: BOTH, run: full_disks::run, sharing: AllPrograms },
    Fault { name: "webhooks", on: BOTH, run: webhooks::run, sharing: AllPrograms },
    Fault { name: "readers", on: BOTH, run: readers::run, sharing: Exclusive },
    Fault { name: "clock", on: BOTH, run: clock::run, sharing: AllPrograms },
    Fault { name: "idle", on: SQLITE, run: idle::run, sharing: Exclusive },
    Fault { name: "waits", on: BOTH, run: waits::run, sharing: BothDatabases },
    Fault { name: "restores", on: BOTH, run: restores::run, sharing: Exclusive },
    Fault { name: "waiters", on: BOTH, run: waiters::run, sharing: BothDatabases },
    Fault { name: "slow-bodies", on: BOTH, run: slow_bodies::run, sharing: BothDatabases },
    Fault { name: "statistics", on: POSTGRES, run: statistics::run, sharing: Exclusive },
    Fault { name: "soak", on: BOTH, run: soak::run, sharing: AllPrograms },
];

/// Most at once, and then the others, one by one; without names, both databases of one that mostly waits at once.
fn main() -> ExitCode {
    let options = &Options::parse(std::env::args().skip(1));
    let chosen = FAULTS.iter().filter(|fault| options.chooses(fault.name));
    let runs = chosen.flat_map(|fault| fault.on.iter().map(move |on| (fault, *on)));
    let runs = runs.filter(|(_, on)| options.is_on(*on));
    let run = |(fault, on): Run| (fault.run)(options, on).is_none_or(|report| report.print(fault.name, on));
    let (together, last): (Vec<_>, Vec<_>) = runs.partition(|(fault, _)| fault.sharing == AllPrograms);
    // Each is waited for, whatever became of the others.
    let wave = |wave: Vec<_>| {
        scope(|scope| {
            let running: Vec<_> = wave.into_iter().map(|one| scope.spawn(move || run(one))).collect();
            let ended: Vec<_> = running.into_iter().map(|run| run.join().unwrap_or(false)).collect();
            ended.into_iter().all(|well| well)
        })
    };
    let is_wave = |(fault, _): &Run, (next, _): &Run| {
        fault.sharing == BothDatabases && fault.name == next.name && !options.has_names()
    };
    let last = last.chunk_by(is_wave).map(<[Run]>::to_vec);
    let waves = [together].into_iter().chain(last);
    let ended: Vec<_> = waves.map(wave).collect();
    let went_well = ended.into_iter().all(|well| well);
    if went_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
