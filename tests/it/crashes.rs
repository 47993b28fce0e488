//! What is left by a process that dies at a chosen point, or in the middle of long work. Servers that are killed at random
//! moments under load, and what lies below them, are the programs of `tests/faults`.

mod billing;
mod clock;
mod disputes;
mod payouts;
pub mod points;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |number| number.parse().unwrap())
}
