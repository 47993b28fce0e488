//! Snapshot (`docs/decisions.md`, 283).

use entity::{SnapshotToken, Timestamp, snapshot};
use macros::view;

/// The contents of an account at one moment.
#[view(of(snapshot::Model))]
pub struct Snapshot {
    /// `snap_...`
    token: SnapshotToken,
    /// The number of rows.
    #[schema(minimum = 0, example = 120)]
    #[shows(row.row_count)]
    rows: i64,
    /// The size of the rows in bytes.
    #[schema(minimum = 0, example = 48_213)]
    bytes: i64,
    /// The time of its creation, by the account's clock.
    created_at: Timestamp,
    /// The time of its deletion, by the wall clock.
    #[shows(row.remove_at)]
    expires_at: Timestamp,
}
