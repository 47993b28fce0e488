//! A file on its way in: in a temporary file without a name, so that nothing is left of it, however it ends.

use std::io::{self, Seek};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// As many bytes of the beginning as it takes to know what a file is.
const HEAD_BYTES: usize = 16;

/// What was received of a file.
#[derive(Debug)]
pub struct Upload {
    /// As its uploader calls it.
    pub filename: String,
    /// Bytes received, those beyond the limit included.
    pub size: u64,
    /// Its first bytes.
    pub head: Vec<u8>,
    limit: u64,
    digest: Sha256,
    file: File,
}

impl Upload {
    /// Begin to receive a file of at most `limit` bytes. What comes beyond is counted and thrown away.
    pub async fn begin(folder: &Path, filename: String, limit: u64) -> io::Result<Self> {
        let folder = folder.to_owned();
        let file = tokio::task::spawn_blocking(move || tempfile::tempfile_in(folder)).await??;
        let (head, digest) = (Vec::with_capacity(HEAD_BYTES), Sha256::new());
        Ok(Self { filename, size: 0, head, limit, digest, file: File::from_std(file) })
    }

    /// The next bytes.
    pub async fn write(&mut self, bytes: &Bytes) -> io::Result<()> {
        self.size += bytes.len() as u64;
        let missing = HEAD_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..missing]);
        self.digest.update(bytes);
        if self.is_too_large() { Ok(()) } else { self.file.write_all(bytes).await }
    }

    /// Whether more came than may.
    pub fn is_too_large(&self) -> bool {
        self.size > self.limit
    }

    /// What tells it apart from other uploads.
    pub fn fingerprint(&self) -> String {
        let digest = STANDARD_NO_PAD.encode(self.digest.clone().finalize());
        format!("{digest}:{}", self.filename)
    }

    /// The received content, from its beginning.
    pub async fn content(self) -> io::Result<File> {
        let mut file = self.file;
        file.flush().await?;
        let mut file = file.into_std().await;
        file.rewind()?;
        Ok(File::from_std(file))
    }
}
