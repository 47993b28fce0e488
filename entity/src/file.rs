//! Uploaded files (specification, File; decisions 9).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, FileToken, Timestamp};

/// One file. Its content is a blob beside the database, by the names of account and file.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "files")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The file's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: FileToken,
    /// As its uploader calls it; names nothing here.
    pub original_filename: String,
    /// What it is for.
    pub purpose: FilePurpose,
    /// Bytes.
    pub size: i64,
    /// By its content.
    pub mime_type: MimeType,
    /// By the account's clock.
    pub uploaded_at: Timestamp,
}

string_enum! {
    /// What a file may be for.
    pub enum FilePurpose {
        DisputeEvidence "dispute_evidence",
    }
}

string_enum! {
    /// What a file may be.
    pub enum MimeType {
        Pdf "application/pdf",
        Png "image/png",
        Jpeg "image/jpeg",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

/// Blobs that no file's row names: one that is about to be written, and what a deleted file leaves.
pub mod stray_blob {
    use sea_orm::entity::prelude::*;

    use crate::{AccountToken, FileToken, Timestamp};

    /// One blob, to be removed unless its file's row is written before.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "stray_blobs")]
    pub struct Model {
        /// Under whose name it lies.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// The file whose content it is, was, or was to be.
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: FileToken,
        /// When it goes, by the wall clock.
        pub remove_at: Timestamp,
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
