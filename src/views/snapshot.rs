//! Snapshot (decisions 12).

use entity::{SnapshotToken, Timestamp, snapshot};
use macros::view;

/// What an account held at one moment, to be put back.
#[view]
pub struct Snapshot {
    /// `snap_...`
    token: SnapshotToken,
    /// How many rows it holds.
    #[schema(minimum = 0, example = 120)]
    rows: i64,
    /// How many bytes these are.
    #[schema(minimum = 0, example = 48_213)]
    bytes: i64,
    /// When it was made, by the account's clock.
    created_at: Timestamp,
    /// When it goes by itself, by the wall clock.
    expires_at: Timestamp,
}

impl From<snapshot::Model> for Snapshot {
    fn from(row: snapshot::Model) -> Self {
        let snapshot::Model { id, row_count, bytes, created_at, remove_at, .. } = row;
        Self { token: id, rows: row_count, bytes, created_at, expires_at: remove_at }
    }
}
