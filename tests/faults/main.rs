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

/// A program.
struct Fault {
    name: &'static str,
    on: &'static [Database],
    run: fn(&Options, Database) -> Option<Report>,
    /// Whether it runs after the others, by itself, because it takes the whole machine or judges how long an answer takes.
    alone: bool,
}

const BOTH: &[Database] = &[Database::Sqlite, Database::Postgres];
const SQLITE: &[Database] = &[Database::Sqlite];
const POSTGRES: &[Database] = &[Database::Postgres];

const FAULTS: &[Fault] = &[
    Fault { name: "kills", on: BOTH, run: kills::servers, alone: false },
    Fault { name: "database-kills", on: POSTGRES, run: kills::databases, alone: false },
    Fault { name: "moves", on: BOTH, run: moves::run, alone: false },
    Fault { name: "nodes", on: POSTGRES, run: nodes::run, alone: false },
    Fault { name: "power-cuts", on: SQLITE, run: power_cuts::run, alone: false },
    Fault { name: "disks", on: SQLITE, run: disks::run, alone: false },
    Fault { name: "disks --ready", on: BOTH, run: ready::run, alone: false },
    Fault { name: "full-disks", on: BOTH, run: full_disks::run, alone: false },
    Fault { name: "webhooks", on: BOTH, run: webhooks::run, alone: false },
    Fault { name: "readers", on: BOTH, run: readers::run, alone: true },
    Fault { name: "clock", on: BOTH, run: clock::run, alone: false },
    Fault { name: "idle", on: SQLITE, run: idle::run, alone: true },
    Fault { name: "waits", on: BOTH, run: waits::run, alone: true },
    Fault { name: "restores", on: BOTH, run: restores::run, alone: true },
    Fault { name: "waiters", on: BOTH, run: waiters::run, alone: true },
    Fault { name: "slow-bodies", on: BOTH, run: slow_bodies::run, alone: true },
    Fault { name: "statistics", on: POSTGRES, run: statistics::run, alone: true },
    Fault { name: "soak", on: BOTH, run: soak::run, alone: false },
];

/// Most at once, because most of their time they wait, and then the others one by one.
fn main() -> ExitCode {
    let options = &Options::parse(std::env::args().skip(1));
    let chosen = FAULTS.iter().filter(|fault| options.chooses(fault.name));
    let runs = chosen.flat_map(|fault| fault.on.iter().map(move |on| (fault, *on)));
    let runs = runs.filter(|(_, on)| options.is_on(*on));
    let run = |(fault, on): (&'static Fault, Database)| {
        (fault.run)(options, on).is_none_or(|report| report.print(fault.name, on))
    };
    let (last, together): (Vec<_>, Vec<_>) = runs.partition(|(fault, _)| fault.alone);
    // Each is waited for, whatever became of the others.
    let wave = |wave: Vec<_>| {
        scope(|scope| {
            let running: Vec<_> = wave.into_iter().map(|one| scope.spawn(move || run(one))).collect();
            let ended: Vec<_> = running.into_iter().map(|run| run.join().unwrap_or(false)).collect();
            ended.into_iter().all(|well| well)
        })
    };
    let waves = [together].into_iter().chain(last.into_iter().map(|one| vec![one]));
    let ended: Vec<_> = waves.map(wave).collect();
    let went_well = ended.into_iter().all(|well| well);
    if went_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
