//! Uploaded files (specification, File).

use crate::{AccountToken, FileToken, Timestamp};

table! {
    /// One file. Its content is a blob beside the database, named by account and file.
    "files" [account_id: AccountToken, id: FileToken] {
        /// The uploader's name of the file, for display only.
        original_filename: String,
        purpose: FilePurpose,
        /// In bytes.
        size: i64,
        /// Found in the content.
        mime_type: MimeType,
        uploaded_at: Timestamp,
    }
}

string_enum! {
    /// The purpose of a file.
    pub closed enum FilePurpose {
        /// The file is evidence for disputes.
        DisputeEvidence "dispute_evidence",
    }
}

string_enum! {
    /// The type of a file's content.
    pub closed enum MimeType {
        Pdf "application/pdf",
        Png "image/png",
        Jpeg "image/jpeg",
    }
}

/// Blobs that no file's row names: a blob about to be written, or the blob of a deleted file.
pub mod stray_blob {
    use crate::{AccountToken, FileToken, Timestamp};

    table! {
        /// One blob, by its file's account and id, which is removed unless the file's row is written before.
        "stray_blobs" [account_id: AccountToken, id: FileToken] {
            /// By the wall clock.
            remove_at: Timestamp,
        }
    }
}
