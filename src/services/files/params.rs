//! Parameters of files (specification, Files).

use entity::file::FilePurpose;
use macros::params;
use serde::Deserialize;
use validator::Validate;

/// A file to be kept.
#[params]
pub struct NewFile {
    /// The upload: a PDF, PNG or JPEG of at most 10 MiB.
    // A text of this name is no upload, and a fault.
    #[schema(value_type = String, format = Binary, required)]
    pub file: Option<String>,
    /// `dispute_evidence`
    #[schema(value_type = String, example = "dispute_evidence")]
    pub purpose: FilePurpose,
}

/// What a link to a file carries.
#[derive(Deserialize, Validate)]
pub struct Link {
    /// Until when it is good.
    pub expires: Option<String>,
    /// What proves that we made it.
    pub signature: Option<String>,
}
