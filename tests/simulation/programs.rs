//! Runs of many seeds, each in a process of its own.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use base::mutants::Mutant;

use crate::bounds;
use crate::coverage::Coverage;
use crate::database;
use crate::faults::KINDS;
use crate::options::Options;

/// The seeds that every run of the tests repeats.
const KNOWN: [u64; 3] = [1, 2, 3];
/// How many clients a shrunk history has at most.
const FEW_CLIENTS: u64 = 3;
/// How often its time is halved.
const HALVINGS: u32 = 4;

/// For how long by the system's clock a history may go on, besides its time of shop: where a server spins, simulated time stands, and
/// none of its limits is reached. Most histories take seconds.
const GOES_ON_MAX: Duration = Duration::from_mins(2);
/// How `timeout` says that it has ended a program.
const TIMED_OUT: i32 = 124;

/// How a seed ended.
struct SeedRun {
    went_well: bool,
    has_ended: bool,
    output: String,
}

impl SeedRun {
    /// Runs a seed. Its folder is its own, so that the names of its files are those of the seed.
    fn of(seed: u64, options: &Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("timeout");
        command.arg((GOES_ON_MAX + options.shop).as_secs().to_string()).arg(std::env::current_exe().unwrap());
        if options.is_postgres {
            command.env(database::variable(), database::server());
        }
        command.args(options.repeat(seed)).args(options.covers.then_some("--coverage"));
        let output = command.env("TMPDIR", folder.path()).output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Self {
            went_well: output.status.success(),
            has_ended: output.status.code() != Some(TIMED_OUT),
            output: text.concat(),
        }
    }

    fn digest(&self) -> Option<&str> {
        self.output.lines().find_map(|line| line.strip_prefix("digest: "))
    }
}

/// Runs seeds that were never run, for so long, and prints them and what they have reached. One that fails is printed once more with
/// fewer faults and clients.
pub fn fresh(time: Duration, options: &Options) -> ExitCode {
    let end = Instant::now() + time;
    let (mut runs, mut failed, mut coverage) = (0, 0, Coverage::default());
    while Instant::now() < end {
        let seed = u64::from(getrandom::u32().unwrap());
        let run = SeedRun::of(seed, &Options { covers: true, ..options.clone() });
        print!("{}", coverage.add(&run.output));
        runs += 1;
        if !run.went_well {
            failed += 1;
            let (says, least) = if run.has_ended {
                ("shrunk", shrunk(seed, options))
            } else {
                ("does not end", options.clone())
            };
            println!("{says}: cargo test --test simulation -- {}", least.repeat(seed).join(" "));
        }
    }
    println!("{runs} seeds, {failed} failed");
    coverage.print();
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns with how little a history still fails: kinds of faults, clients and time are left out as long as it does.
fn shrunk(seed: u64, options: &Options) -> Options {
    let fails = |options: &Options| !SeedRun::of(seed, options).went_well;
    let mut least = options.clone();
    let mut try_with = |change: &dyn Fn(&mut Options)| {
        let mut less = least.clone();
        change(&mut less);
        let still_fails = fails(&less);
        if still_fails {
            least = less;
        }
        still_fails
    };
    for kind in KINDS {
        try_with(&|less| less.faults.retain(|allowed| *allowed != kind));
    }
    let _ = (1..=FEW_CLIENTS).find(|clients| try_with(&|less| less.clients = Some(*clients)));
    let _ = (0..HALVINGS).all(|_| try_with(&|less| less.shop /= 2));
    least
}

/// Runs known seeds twice; the same seed has the same history.
pub fn twice(options: &Options) -> ExitCode {
    let mut went_well = true;
    for seed in KNOWN {
        let (first, second) = (SeedRun::of(seed, options), SeedRun::of(seed, options));
        print!("{}", first.output);
        let repeats = simulated_machine::repeats() && !options.is_postgres;
        let same = first.digest() == second.digest() || !repeats;
        if first.digest().is_none() || !same {
            println!("seed {seed} has two histories:\n{}", second.output);
            went_well = false;
        }
        went_well &= first.went_well;
    }
    if went_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Lists the slips that a server can be given, and within how many seeds each is found.
pub fn mutants() -> ExitCode {
    for mutant in Mutant::ALL {
        println!("{:32} {:3} {}", mutant.name(), bounds::seeds(*mutant), mutant.slip());
    }
    ExitCode::SUCCESS
}

/// Runs the first seeds with each mutant, until one fails; a mutant that none finds is a failure.
pub fn find(within: impl Fn(Mutant) -> u64, options: &Options) -> ExitCode {
    let mut went_well = true;
    for mutant in options.mutants() {
        let (within, options) = (within(mutant), Options { mutants: vec![mutant], ..options.clone() });
        let mutant = mutant.name();
        if let Some(seed) = (1..=within).find(|seed| !SeedRun::of(*seed, &options).went_well) {
            println!("{mutant}: found by seed {seed}");
        } else {
            println!("{mutant}: not found by {within} seeds");
            went_well = false;
        }
    }
    if went_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
