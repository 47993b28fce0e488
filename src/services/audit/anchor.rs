//! Copies the head of the audit trail to where an intruder in the database does not get (`docs/decisions.md`, 385).

use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};

use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use super::chain::AuditHead;
use crate::blobs::{Bucket, BucketError};
use crate::error::Error;
use crate::services::context::Context;

/// Where heads go.
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
    async fn write(&self, head: &AuditHead, text: &str) -> io::Result<()> {
        let line = format!("{text}\n");
        match self {
            Self::File(path) => {
                if ends_with(path, &line).await.unwrap_or_default() {
                    return Ok(());
                }
                let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path).await?;
                file.write_all(line.as_bytes()).await?;
                file.sync_all().await
            }
            Self::Bucket(bucket) => {
                // In the order of the trail; a head that is signed again, when entries are removed, is another object.
                let name = format!("audit-{:012}-{}.json", head.number, head.signed_at);
                bucket.put_object(&name, line.into()).await
            }
        }
    }
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

/// Writes the head of the trail to the configured anchor, unless it is `anchored`, the head that was written before.
pub async fn write_anchor(ctx: &Context, anchored: &mut Option<AuditHead>) -> Result<(), Error> {
    let Some(anchor) = &ctx.audit_anchor else { return Ok(()) };
    let Some(row) = AuditHead::find(ctx.store.read()).await? else { return Ok(()) };
    let head = AuditHead::parse(&ctx.vault, &row.value).ok_or_else(AuditHead::changed)?;
    if anchored.as_ref() == Some(&head) {
        return Ok(());
    }
    let written = anchor.write(&head, &row.value).await;
    written.map_err(|error| Error::internal(format!("the anchor of the audit trail: {error}")))?;
    *anchored = Some(head);
    Ok(())
}
