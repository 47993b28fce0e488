//! File (specification, File).

use entity::file::{self, FilePurpose, MimeType};
use entity::{FileToken, Timestamp};
use macros::view;

/// An uploaded file.
#[view]
pub struct File {
    /// `file_...`
    token: FileToken,
    /// As its uploader calls it.
    #[schema(example = "receipt.pdf")]
    original_filename: String,
    /// Where it can be read without a key until it expires.
    #[schema(example = "https://api.example.com/files/acct_.../file_...?expires=1772449200&signature=...")]
    presigned_url: String,
    /// Until when.
    presigned_url_expires_at: Timestamp,
    /// `dispute_evidence`
    #[schema(value_type = String, example = "dispute_evidence")]
    purpose: FilePurpose,
    /// Bytes.
    #[schema(example = 1024)]
    size: i64,
    /// By its content: `application/pdf`, `image/png` or `image/jpeg`.
    #[schema(value_type = String, example = "application/pdf")]
    mime_type: MimeType,
    /// When.
    uploaded_at: Timestamp,
}

impl File {
    /// A file and a link to it.
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
