//! Blobs: the contents of uploaded files, outside the database. A blob has a name and bytes; the services know its
//! purpose and its end.

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

/// A place for blobs. A stored blob is complete or absent, and survives a loss of power.
pub trait Blobs: Send + Sync + 'static {
    /// Writes a blob, from the beginning of `content`.
    fn put(&self, name: BlobName, content: File) -> BoxFuture<'_, io::Result<()>>;

    /// Reads a blob; `None` where it does not exist.
    fn get(&self, name: BlobName) -> BoxFuture<'_, io::Result<Option<Content>>>;

    /// Removes a blob, or the remains of an interrupted [`Blobs::put`]. An absent blob is no error.
    fn remove(&self, name: BlobName) -> BoxFuture<'_, io::Result<()>>;
}

/// The chunks of a blob.
pub type Content = BoxStream<'static, io::Result<Bytes>>;

/// The name of a file's blob. No part of it comes from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobName {
    account: AccountToken,
    file: FileToken,
}

impl BlobName {
    /// Builds the name of an account's file.
    pub fn new(account: AccountToken, file: FileToken) -> Self {
        Self { account, file }
    }
}

impl fmt::Display for BlobName {
    /// Lower-case letters, which every file system tells apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.account.id(), self.file.id())
    }
}
