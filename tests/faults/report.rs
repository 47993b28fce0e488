//! What a program says at its end.

use crate::options::Database;

/// What came of a program.
#[derive(Debug, Default)]
pub struct Report {
    pub rounds: u64,
    /// What was done to the server, its database or its disk.
    pub faults: u64,
    /// What was acknowledged and is gone, or is there otherwise than it was acknowledged.
    pub lost: u64,
    /// What is there twice, or was never asked for.
    pub doubled: u64,
    /// Answers with 5xx, all of them documented.
    pub server_errors: u64,
    /// What else there is to say, such as how much was acknowledged.
    pub besides: String,
    pub seed: u64,
}

impl Report {
    /// Print the line. Whether nothing was lost or doubled.
    pub fn told(&self, fault: &str, database: Database) -> bool {
        let Self { rounds, faults, lost, doubled, server_errors, besides, seed } = self;
        let database = database.name();
        println!(
            "{fault} on {database}: {rounds} rounds, {faults} faults, {lost} lost, {doubled} doubled, {server_errors} 5xx; {besides}; --seed {seed}"
        );
        *lost == 0 && *doubled == 0
    }
}
