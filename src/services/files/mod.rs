//! An uploaded file is a row, and its content a blob outside the database (`docs/decisions.md`, 216 to 220).
//!
//! A table of stray blobs lists the blobs without a file: an upload adds its blob before it writes it, and a deletion
//! adds the deleted file's blob in the same commit. A worker removes these blobs when they are due, so a process may be
//! killed at any point.

pub(in crate::services) mod content;
pub mod create;
pub mod find;
pub mod link;
pub mod params;
pub mod stray;
pub mod view;

pub use create::create;
pub use find::show;
pub use link::download;
pub(in crate::services) use stray::{remove, replaced};
