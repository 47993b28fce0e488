//! Erasures as operators see them (`docs/decisions.md`, 388).

use std::fmt;

use entity::{AccountToken, CustomerToken, Timestamp};
use serde::Serialize;

/// What the first pass of an erasure has done.
#[derive(Debug, Clone, Serialize)]
pub struct Erasure {
    pub token: CustomerToken,
    pub account: AccountToken,
    /// The number of its charges and authorisations.
    pub charges: u64,
    /// The number of events about them and it.
    pub events: u64,
    /// The number of deleted files.
    pub files: u64,
    /// When a server makes the last pass, by the account's clock.
    pub ends_at: Timestamp,
}

impl fmt::Display for Erasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token, account, charges, events, files, ends_at } = self;
        write!(
            f,
            "{token} of {account}: erased from {charges} charges and {events} events, {files} files deleted; \
             a server makes the last pass at {ends_at}"
        )
    }
}
