//! Snapshots of accounts in the sandbox: the rows of an account at one moment, to be restored later.

use crate::{AccountToken, SnapshotToken, Timestamp};

table! {
    /// One snapshot of its account. Its rows are in its parts.
    "snapshots" [account_id: AccountToken, id: SnapshotToken] {
        /// The number of the schema's steps when it was made.
        schema_steps: i32,
        row_count: i64,
        /// The size of the rows before encryption.
        bytes: i64,
        /// By the wall clock.
        remove_at: Timestamp,
        created_at: Timestamp,
    }
}

/// Parts of snapshots.
pub mod snapshot_part {
    use uuid::Uuid;

    use crate::{AccountToken, Bytes, SnapshotToken};

    table! {
        /// Some rows of one table. Parts are numbered from 0.
        "snapshot_parts" [account_id: AccountToken, snapshot_id: SnapshotToken, n: i32] {
            /// The rows, with their sealed columns decrypted before.
            rows_sealed: Bytes,
            sealed_by: Uuid,
        }
    }
}

/// Files whose blobs snapshots need.
pub mod snapshot_file {
    use crate::{AccountToken, FileToken, SnapshotToken};

    table! {
        /// A file of a snapshot. Its blob stays as long as the snapshot.
        "snapshot_files" [account_id: AccountToken, file_id: FileToken, snapshot_id: SnapshotToken] {
        }
    }
}
