//! Snapshot (decisions 12).

use entity::{SnapshotToken, Timestamp, snapshot};
use macros::view;

/// What an account held at one moment, to be put back.
#[view(of(snapshot::Model))]
pub struct Snapshot {
    /// `snap_...`
    token: SnapshotToken,
    /// How many rows it holds.
    #[schema(minimum = 0, example = 120)]
    #[shows(row.row_count)]
    rows: i64,
    /// How many bytes these are.
    #[schema(minimum = 0, example = 48_213)]
    bytes: i64,
    /// When it was made, by the account's clock.
    created_at: Timestamp,
    /// When it goes by itself, by the wall clock.
    #[shows(row.remove_at)]
    expires_at: Timestamp,
}
