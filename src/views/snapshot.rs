//! Snapshot (`docs/decisions.md`, 283).

use entity::{SnapshotToken, Timestamp, snapshot};
use serde::Serialize;
use utoipa::ToSchema;

/// The contents of an account at one moment.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Snapshot {
    /// `snap_...`
    #[schema(value_type = String, example = "snap_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: SnapshotToken,
    /// The number of rows.
    #[schema(minimum = 0, example = 120)]
    rows: i64,
    /// The size of the rows in bytes.
    #[schema(minimum = 0, example = 48_213)]
    bytes: i64,
    /// The time of its creation, by the account's clock.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The time of its deletion, by the wall clock.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

impl From<snapshot::Model> for Snapshot {
    fn from(row: snapshot::Model) -> Self {
        let snapshot::Model { id, row_count, bytes, created_at, remove_at, .. } = row;
        Self { token: id, rows: row_count, bytes, created_at, expires_at: remove_at }
    }
}
