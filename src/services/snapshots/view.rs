//! Snapshot (`docs/decisions.md`, 283).

use entity::{SnapshotToken, Timestamp, snapshot};
use macros::view;

/// A copy of everything in an account, to which the account can go back.
#[view(of(snapshot::Model))]
pub struct Snapshot {
    /// The snapshot's token, `snap_...`.
    token: SnapshotToken,
    /// The number of rows in the snapshot.
    #[schema(minimum = 0, example = 120)]
    #[shows(row.row_count)]
    rows: i64,
    /// The size of the rows in bytes.
    #[schema(minimum = 0, example = 48_213)]
    bytes: i64,
    /// The time of the snapshot's creation, by the account's clock.
    created_at: Timestamp,
    /// The real time at which the snapshot is deleted.
    #[shows(row.remove_at)]
    expires_at: Timestamp,
}
