//! Blobs: the contents of uploaded files, beside the database. Knows names and bytes; what a blob is for, and when it
//! goes, say the services.

mod bucket;
mod disk;
mod upload;

use std::fmt;
use std::io;

use bytes::Bytes;
use entity::{AccountToken, FileToken};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tokio::fs::File;

pub use bucket::{Bucket, BucketError};
pub use disk::Disk;
pub use upload::Upload;

/// Where blobs are. What was put is there whole or not at all, and stays over a loss of power.
pub trait Blobs: Send + Sync + 'static {
    /// Write a blob, from the beginning of `content`.
    fn put(&self, name: BlobName, content: File) -> BoxFuture<'_, io::Result<()>>;

    /// Read a blob; `None` is one that is not there.
    fn get(&self, name: BlobName) -> BoxFuture<'_, io::Result<Option<Content>>>;

    /// Remove a blob, or what an interrupted [`Blobs::put`] has left of it. One that is not there is no error.
    fn remove(&self, name: BlobName) -> BoxFuture<'_, io::Result<()>>;
}

/// A blob, piece by piece.
pub type Content = BoxStream<'static, io::Result<Bytes>>;

/// The name of a file's blob. Nothing in it comes from a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobName {
    account: AccountToken,
    file: FileToken,
}

impl BlobName {
    /// The name of an account's file.
    pub fn new(account: AccountToken, file: FileToken) -> Self {
        Self { account, file }
    }
}

impl fmt::Display for BlobName {
    /// In letters that every file system tells apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.account.id(), self.file.id())
    }
}
