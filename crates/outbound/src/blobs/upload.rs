//! A file while it is being received, in a temporary file without a name, so that nothing is left of it, however it
//! ends.

use std::io::{self, Seek};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// The bytes from which a file's type is known.
const HEAD_BYTES: usize = 1024;

/// A received file.
#[derive(Debug)]
pub struct Upload {
    /// The name that the client gave.
    pub filename: String,
    /// The bytes received, including those beyond the limit.
    pub size: u64,
    /// Its first bytes.
    pub head: Vec<u8>,
    limit: u64,
    digest: Sha256,
    file: File,
}

impl Upload {
    /// Starts to receive a file of at most `limit` bytes. Further bytes are counted and discarded.
    pub async fn begin(folder: &Path, filename: String, limit: u64) -> io::Result<Self> {
        let folder = folder.to_owned();
        let file = tokio::task::spawn_blocking(move || tempfile::tempfile_in(folder)).await??;
        let (head, digest) = (Vec::with_capacity(HEAD_BYTES), Sha256::new());
        Ok(Self { filename, size: 0, head, limit, digest, file: File::from_std(file) })
    }

    /// Writes the next bytes.
    pub async fn write(&mut self, bytes: &Bytes) -> io::Result<()> {
        self.size += bytes.len() as u64;
        let missing = HEAD_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..missing]);
        self.digest.update(bytes);
        if self.is_too_large() { Ok(()) } else { self.file.write_all(bytes).await }
    }

    /// Returns whether the file exceeds the limit.
    pub fn is_too_large(&self) -> bool {
        self.size > self.limit
    }

    /// Returns the hash that tells this upload from others.
    pub fn fingerprint(&self) -> String {
        let digest = STANDARD_NO_PAD.encode(self.digest.clone().finalize());
        format!("{digest}:{}", self.filename)
    }

    /// Returns the received content, from its beginning.
    pub async fn content(self) -> io::Result<File> {
        let mut file = self.file;
        file.flush().await?;
        let mut file = file.into_std().await;
        file.rewind()?;
        Ok(File::from_std(file))
    }
}
