//! File (specification, File).

use entity::file::{self, FilePurpose, MimeType};
use entity::{FileToken, Timestamp};
use macros::view;

/// A file that you have uploaded.
#[view]
pub struct File {
    /// The file's token, `file_...`.
    token: FileToken,
    /// The name of the file when it was uploaded.
    #[schema(example = "receipt.pdf")]
    original_filename: String,
    /// A link to the content that needs no key, until it expires.
    #[schema(example = "https://api.example.com/files/acct_.../file_...?expires=1772449200&signature=...")]
    presigned_url: String,
    /// The time at which the link expires.
    presigned_url_expires_at: Timestamp,
    /// What the file is for.
    purpose: FilePurpose,
    /// The size of the content in bytes.
    #[schema(example = 1024)]
    size: i64,
    /// The type of the content.
    mime_type: MimeType,
    /// The time of the upload.
    uploaded_at: Timestamp,
}

impl File {
    /// Returns a file with a link to its content.
    pub fn new(row: file::Model, presigned_url: String, presigned_url_expires_at: Timestamp) -> Self {
        Self {
            token: row.id,
            original_filename: row.original_filename,
            presigned_url,
            presigned_url_expires_at,
            purpose: row.purpose,
            size: row.size,
            mime_type: row.mime_type,
            uploaded_at: row.uploaded_at,
        }
    }
}
