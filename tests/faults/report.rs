//! The line that a program prints at its end.

use crate::options::Database;

/// The result of a program.
#[derive(Debug, Default)]
pub struct Report {
    pub rounds: u64,
    /// Faults of the server, its database or its disk.
    pub faults: u64,
    /// Acknowledged records that are gone or differ.
    pub lost: u64,
    /// Records that are there twice, or were never requested.
    pub doubled: u64,
    /// Answers with 5xx, all of them documented.
    pub server_errors: u64,
    /// Other numbers, such as how many requests were acknowledged.
    pub besides: String,
    pub seed: u64,
}

impl Report {
    /// Prints the line. Returns whether nothing was lost or doubled.
    pub fn print(&self, fault: &str, database: Database) -> bool {
        let Self { rounds, faults, lost, doubled, server_errors, besides, seed } = self;
        let database = database.name();
        println!(
            "{fault} on {database}: {rounds} rounds, {faults} faults, {lost} lost, {doubled} doubled, {server_errors} 5xx; {besides}; --seed {seed}"
        );
        *lost == 0 && *doubled == 0
    }
}
