//! The contents of files, for an account that is written to a file and read from it.

use std::io::{self, Write};

use entity::{AccountToken, FileToken};
use futures::TryStreamExt;
use outbound::blobs::BlobName;

use super::stray;
use crate::error::Error;
use crate::services::context::Context;

/// Returns a file's content.
pub(in crate::services) async fn read(
    ctx: &Context,
    account: AccountToken,
    file: FileToken,
) -> Result<Vec<u8>, Error> {
    let failed =
        |why: &dyn std::fmt::Display| Error::internal(format!("the content of {file} cannot be read: {why}"));
    let content = ctx.blobs.get(BlobName::new(account, file)).await.map_err(|error| failed(&error))?;
    let chunks: Vec<_> =
        content.ok_or_else(|| failed(&"it is gone"))?.try_collect().await.map_err(|error| failed(&error))?;
    Ok(chunks.concat())
}

/// Stores the content of a file whose row is added by a later unit, which ends the content's life as a stray blob.
pub(in crate::services) async fn store(
    ctx: &Context,
    account: AccountToken,
    file: FileToken,
    content: &[u8],
) -> Result<(), Error> {
    stray::announce_again(ctx, account, file).await?;
    let stored = async {
        let mut written = tempfile::tempfile_in(&ctx.settings.incoming)?;
        written.write_all(content)?;
        ctx.blobs.put(BlobName::new(account, file), tokio::fs::File::from_std(written)).await
    };
    let stored: io::Result<()> = stored.await;
    stored.map_err(|error| Error::internal(format!("the content of {file} cannot be written: {error}")))
}
