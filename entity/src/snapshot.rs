//! Snapshots of accounts in the sandbox: what an account held at one moment, to be put back later.

use sea_orm::entity::prelude::*;

use crate::{AccountToken, SnapshotToken, Timestamp};

/// One snapshot. What it holds is in its parts.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "snapshots")]
pub struct Model {
    /// Whose row it is, and what it is a snapshot of.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The snapshot's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: SnapshotToken,
    /// How many steps the schema had whose rows it holds.
    pub schema_steps: i32,
    /// How many rows it holds.
    pub row_count: i64,
    /// How many bytes these are as they are kept, before they are sealed.
    pub bytes: i64,
    /// When it goes, by the wall clock.
    pub remove_at: Timestamp,
    /// By the account's clock.
    pub created_at: Timestamp,
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

/// What snapshots hold.
pub mod snapshot_part {
    use sea_orm::entity::prelude::*;

    use crate::{AccountToken, SnapshotToken};

    /// Some rows of one table.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "snapshot_parts")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// The snapshot it is a part of.
        #[sea_orm(primary_key, auto_increment = false)]
        pub snapshot_id: SnapshotToken,
        /// From 0.
        #[sea_orm(primary_key, auto_increment = false)]
        pub n: i32,
        /// The rows, with what was sealed in them in the clear.
        pub rows_sealed: Vec<u8>,
        /// The data key.
        pub sealed_by: Uuid,
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

/// Files whose blobs snapshots need.
pub mod snapshot_file {
    use sea_orm::entity::prelude::*;

    use crate::{AccountToken, FileToken, SnapshotToken};

    /// A file that a snapshot holds: its blob stays as long as the snapshot does.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "snapshot_files")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// The file.
        #[sea_orm(primary_key, auto_increment = false)]
        pub file_id: FileToken,
        /// The snapshot.
        #[sea_orm(primary_key, auto_increment = false)]
        pub snapshot_id: SnapshotToken,
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
