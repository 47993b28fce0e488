//! One seed, one history: the whole server in a machine that a seed decides (`docs/reliability.md`).
//!
//! `cargo test --test simulation -- --seed 7` runs one history, and fails unless the judge is content; `--seconds-of-shop` says for how
//! long clients pay while faults happen, and `--print` shows the history. `--fresh 60` runs seeds that were never run for so many
//! seconds. Without arguments it runs a few seeds twice each, and compares their digests. `--database postgres --servers 3` runs so many
//! servers on one real database: such a history does not repeat byte for byte. `mutants` lists slips of the server and the seeds within
//! which each is found, `--mutant` gives it one, `--find-within 20` says which of the first seeds finds it, and `--find-all` whether those
//! do within which it is to be found.

// Tells clippy that all of this is test code: unwrap is allowed.
#![cfg(test)]

mod acquirer_book;
mod billing;
mod bounds;
mod client;
mod coverage;
mod database;
mod faults;
mod harness;
mod history;
mod installation;
mod judge;
mod lives;
mod money;
mod network;
mod options;
mod payer;
mod programs;
mod receivers;
mod scenarios;
mod server;
mod shop;

use std::process::ExitCode;

use options::{Command, Options};

fn main() -> ExitCode {
    if !simulated_machine::IS_HERE {
        println!("The simulation runs on Linux with the GNU C library");
        return ExitCode::SUCCESS;
    }
    let options = Options::parse(std::env::args().skip(1));
    match options.command {
        Command::One(seed) => shop::run(seed, &options),
        Command::Fresh(seconds) => programs::fresh(seconds, &options),
        Command::Twice => programs::twice(&options),
        Command::Mutants => programs::mutants(),
        Command::Find(within) => programs::find(|_| within, &options),
        Command::FindAll => programs::find(bounds::seeds, &options),
    }
}
