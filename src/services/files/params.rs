//! Parameters of files (specification, Files).

use entity::file::FilePurpose;
use macros::params;
use serde::Deserialize;
use validator::Validate;

/// A file to store.
#[params]
pub struct NewFile {
    /// The content: a PDF, PNG or JPEG of at most 10 MiB.
    // A text of this name is no upload, and a fault.
    #[schema(value_type = String, format = Binary, required)]
    pub file: Option<String>,
    /// What the file is for.
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
