//! Files shared with tests/it.

#![expect(dead_code, reason = "the rules need more of it than the simulation")]

#[path = "../it/harness/client.rs"]
pub mod client;
#[path = "../it/harness/cluster.rs"]
pub mod cluster;
#[path = "../it/harness/contract.rs"]
pub mod contract;
#[path = "../it/harness/counts.rs"]
pub mod counts;
#[path = "../it/harness/random.rs"]
pub mod random;
#[path = "../it/harness/rows.rs"]
pub mod rows;
#[path = "../it/harness/skipped.rs"]
pub mod skipped;

pub use client::{Answer, Client, with};

/// The document, as the clients of the model know it.
pub mod app {
    use std::sync::LazyLock;

    use super::contract::Contract;

    pub static CONTRACT: LazyLock<Contract> = LazyLock::new(|| Contract::new(card_payments::api::openapi()));
}

/// 2026-03-02T10:00:00Z, a Monday: when histories begin.
pub const MONDAY: entity::Timestamp = entity::Timestamp::from_millis(1_772_445_600_000);

/// Returns the time as of which the model lives.
pub fn as_of() -> entity::Timestamp {
    MONDAY
}
