//! Uploaded files (decisions 9): a row, and its content as a blob beside the database.
//!
//! What is written of a blob is announced before, and what a deleted file leaves is told with the deletion, both in a
//! table of blobs that nothing names. A worker removes them when their time has come, so a process may end anywhere.

pub mod create;
pub mod find;
pub mod link;
pub mod stray;

pub use create::create;
pub use find::show;
pub use link::download;
pub(in crate::services) use stray::{remove, replaced};
