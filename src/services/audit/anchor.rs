//! Copies the head of the audit trail to where an intruder in the database does not get (`docs/decisions.md`, 385).

use std::io::{self, ErrorKind, SeekFrom};
use std::path::{Path, PathBuf};

use base::platform;
use outbound::blobs::{Bucket, BucketError};
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use vault::Vault;

use super::head::AuditHead;

/// The beginning of the names of all heads' objects.
const OBJECTS: &str = "audit-";
/// The number of bytes of a file's end that are read to find its last head: some two hundred lines.
const END_BYTES: u64 = 64 * 1024;

/// The destination of heads.
#[derive(Debug)]
pub enum AuditAnchor {
    /// A file to which a line is appended for each head.
    File(PathBuf),
    /// A bucket with an object for each head.
    Bucket(Bucket),
}

impl AuditAnchor {
    /// Opens the anchor at `s3://BUCKET/PREFIX` or at a path.
    pub fn at(address: &str) -> Result<Self, BucketError> {
        if address.starts_with("s3://") {
            Ok(Self::Bucket(Bucket::at(address)?))
        } else {
            Ok(Self::File(address.into()))
        }
    }

    /// Writes a head, and returns once it will survive a loss of power. A line that is the last one already is not repeated.
    pub(super) async fn write(&self, head: &AuditHead, text: &str) -> io::Result<()> {
        let line = format!("{text}\n");
        match self {
            Self::File(path) => {
                if ends_with(path, &line).await.unwrap_or_default() {
                    return Ok(());
                }
                let mut new = platform::private_file();
                new.append(true);
                let mut file = OpenOptions::from(new).open(path).await?;
                // A full disk or a loss of power has left a part of a line: no other may continue it.
                let is_ended = match ends_with(path, "\n").await {
                    // The file may only be written. A reader skips an empty line.
                    Err(error) if error.kind() == ErrorKind::PermissionDenied => false,
                    is_ended => is_ended?,
                };
                let is_torn = !is_ended && file.metadata().await?.len() > 0;
                let end = if is_torn { "\n" } else { "" };
                file.write_all(format!("{end}{line}").as_bytes()).await?;
                file.sync_all().await
            }
            Self::Bucket(bucket) => {
                // A head that is signed again, when entries are removed, is another object.
                let name = format!("{}{}.json", object_name(head.number), head.signed_at);
                bucket.put_object(&name, line.into()).await
            }
        }
    }

    /// Returns the last head of this trail that is not before `head`, if there is one.
    pub(super) async fn last(&self, vault: &Vault, head: &AuditHead) -> io::Result<Option<AuditHead>> {
        match self {
            Self::File(path) => last_head(path, vault).await,
            Self::Bucket(bucket) => {
                let last = bucket.last_object(OBJECTS, &object_name(head.number)).await?;
                Ok(last.and_then(|text| AuditHead::parse(vault, &String::from_utf8_lossy(&text))))
            }
        }
    }
}

/// Returns the beginning of the names of a head's objects: their order is that of the trail.
fn object_name(number: i64) -> String {
    format!("{OBJECTS}{number:012}-")
}

/// Returns whether a line is the last one of a file, which only grows: its end is read alone.
async fn ends_with(path: &Path, line: &str) -> io::Result<bool> {
    let mut file = File::open(path).await?;
    let Some(start) = file.metadata().await?.len().checked_sub(line.len() as u64) else { return Ok(false) };
    file.seek(SeekFrom::Start(start)).await?;
    let mut end = Vec::new();
    file.read_to_end(&mut end).await?;
    Ok(end == line.as_bytes())
}

/// Returns the last head of this trail in the end of a file that a server of any release has appended to.
async fn last_head(path: &Path, vault: &Vault) -> io::Result<Option<AuditHead>> {
    let mut file = match File::open(path).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let start = file.metadata().await?.len().saturating_sub(END_BYTES);
    file.seek(SeekFrom::Start(start)).await?;
    let mut end = Vec::new();
    file.take(END_BYTES).read_to_end(&mut end).await?;
    Ok(String::from_utf8_lossy(&end).lines().rev().find_map(|line| AuditHead::parse(vault, line)))
}
