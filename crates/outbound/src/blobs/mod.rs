//! Blobs: the contents of uploaded files, outside the database. A blob has a name and bytes; the services know its
//! purpose and its end.

mod bucket;
mod disk;
mod upload;

use std::fmt;
use std::io;

use base::hexadecimal;
use bytes::Bytes;
use entity::{AccountToken, CustomerToken, FileToken};
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

    /// Adds a mark: a name without content, beside the blobs, which stays.
    fn put_mark(&self, mark: Mark) -> BoxFuture<'_, io::Result<()>>;

    /// Returns all marks. Other names beside them are left out.
    fn marks(&self) -> BoxFuture<'_, io::Result<Vec<Mark>>>;
}

/// The chunks of a blob.
pub type Content = BoxStream<'static, io::Result<Bytes>>;

/// The folder of the marks.
const MARKS: &str = "erased";

/// The mark of a customer whose personal data is erased: it outlives the database, whose older copy may be put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The account.
    pub account: AccountToken,
    /// The customer.
    pub customer: CustomerToken,
    /// The signature; those of earlier releases have none.
    pub signature: Option<[u8; 32]>,
}

impl fmt::Display for Mark {
    /// Lower-case letters, as in [`BlobName`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.account.id(), self.customer.id())?;
        let Some(signature) = self.signature else { return Ok(()) };
        write!(f, ".{}", hexadecimal::encode(&signature))
    }
}

impl Mark {
    fn parse(name: &str) -> Option<Self> {
        let (account, rest) = name.split_once('.')?;
        let (customer, signature) = rest.split_once('.').unwrap_or((rest, ""));
        let (account, customer) = (account.parse().ok()?, customer.parse().ok()?);
        let mark = Self {
            account: AccountToken::new(account),
            customer: CustomerToken::new(customer),
            signature: signature_of(signature),
        };
        Some(mark)
    }
}

/// Returns the signature that hexadecimal digits spell. Anything else is none, and nobody's.
fn signature_of(digits: &str) -> Option<[u8; 32]> {
    hexadecimal::decode(digits)?.try_into().ok()
}

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
