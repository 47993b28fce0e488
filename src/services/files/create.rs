//! POST /files: writes the blob first, the row second.

use std::io;

use base::crash_points;
use entity::file::{self, FilePurpose, MimeType};
use entity::stray_blob;
use outbound::blobs::{BlobName, Upload};

use super::link::Links;
use super::stray;
use crate::error::{Error, ErrorCode};
use crate::limits::{FILE_BYTES_MAX, NAME_LENGTH_MAX};
use crate::params::Params;
use crate::params::values::{BLANK, INVALID};
use crate::services::context::{Caller, Context, Ctx};
use crate::services::files::params::NewFile;
use crate::services::files::view::File;
use crate::services::idempotency;

/// Stores an uploaded file. Once the file is received, it is stored even if the client disconnects.
///
/// Refusals, first match wins: `invalid_resource`, `service_unavailable` if blobs cannot be written.
pub async fn create(
    ctx: &Ctx,
    caller: &Caller,
    params: Params<NewFile>,
    upload: Option<Upload>,
) -> Result<File, Error> {
    let Params { value: new_file, mut faults } = params;
    let predicate = match &upload {
        Some(upload) => wrong_with(upload),
        None if new_file.file.is_some_and(|text| !text.trim().is_empty()) => Some(INVALID),
        None => Some(BLANK),
    };
    if let Some(predicate) = predicate {
        faults.add("file", predicate);
    }
    let (Some(upload), true) = (upload, faults.is_empty()) else { return Err(faults.into()) };
    let (task, caller) = (ctx.clone(), caller.clone());
    ctx.in_own_task(async move { store_upload(&task, &caller, upload, new_file.purpose).await }).await
}

fn wrong_with(upload: &Upload) -> Option<&'static str> {
    if upload.size == 0 {
        Some(BLANK)
    } else if upload.is_too_large() {
        Some("is too large (maximum is 10 MiB)")
    } else if mime_type(&upload.head).is_none() {
        Some("must be a PDF, PNG or JPEG")
    } else if upload.filename.contains('\0') || upload.filename.chars().count() as u64 > NAME_LENGTH_MAX {
        Some("has a name that is not valid")
    } else {
        None
    }
}

/// Detects a file's type by its first bytes. A PDF may begin later: readers look for its mark in the first 1,024 bytes
/// (`docs/decisions.md`, 217).
fn mime_type(head: &[u8]) -> Option<MimeType> {
    const PDF: &[u8] = b"%PDF-";
    let beginnings: [(&[u8], MimeType); 2] =
        [(b"\x89PNG\r\n\x1a\n", MimeType::Png), (b"\xff\xd8\xff", MimeType::Jpeg)];
    let picture = beginnings.into_iter().find(|(beginning, _)| head.starts_with(beginning));
    let is_pdf = || head.windows(PDF.len()).any(|bytes| bytes == PDF);
    picture.map(|(_, mime_type)| mime_type).or_else(|| is_pdf().then_some(MimeType::Pdf))
}

async fn store_upload(
    ctx: &Context,
    caller: &Caller,
    upload: Upload,
    purpose: FilePurpose,
) -> Result<File, Error> {
    debug_assert!(upload.size <= FILE_BYTES_MAX, "a file that was refused");
    let mime_type = mime_type(&upload.head).ok_or_else(|| Error::internal("a file that was refused"))?;
    let row = file::Model {
        account_id: caller.account.id(),
        id: ctx.ids.token(),
        original_filename: upload.filename.clone(),
        purpose,
        size: i64::try_from(upload.size).unwrap_or(i64::MAX),
        mime_type,
        uploaded_at: caller.account.now,
    };
    let announced = stray::announce(ctx, row.account_id, row.id).await?;
    let kept = match store(ctx, &row, upload).await {
        Ok(()) => record(ctx, caller, row, announced.clone()).await,
        Err(error) => {
            tracing::error!(%error, "a blob cannot be written");
            Err(ErrorCode::ServiceUnavailable.into())
        }
    };
    if kept.is_err() {
        // Remove the blob now, instead of after the time that marks an interrupted upload.
        stray::make_due_now(ctx, announced).await?;
    }
    kept
}

async fn store(ctx: &Context, row: &file::Model, upload: Upload) -> io::Result<()> {
    let content = upload.content().await?;
    crash_points::point("file", "blob.before");
    ctx.blobs.put(BlobName::new(row.account_id, row.id), content).await?;
    crash_points::point("file", "blob.after");
    Ok(())
}

async fn record(
    ctx: &Context,
    caller: &Caller,
    row: file::Model,
    announced: stray_blob::Model,
) -> Result<File, Error> {
    let data = (row, announced, Links::new(ctx, &caller.account));
    let unit = idempotency::write(ctx, caller, data, async |tx, (row, announced, links)| {
        stray::named(tx, announced).await?;
        tx.append(row);
        crash_points::point("file", "row.before");
        Ok(links.shown(row))
    });
    unit.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_it_begins_with() {
        for before in [&b""[..], b" ", b"\n", b"\r\n", b"\xef\xbb\xbf", &[b'x'; 200], &[0; 1019]] {
            assert_eq!(mime_type(&[before, b"%PDF-1.7\n"].concat()), Some(MimeType::Pdf), "{before:?}");
        }
        assert_eq!(mime_type(b"\x89PNG\r\n\x1a\n\0\0"), Some(MimeType::Png));
        assert_eq!(mime_type(b"\xff\xd8\xff\xe0"), Some(MimeType::Jpeg));
        assert_eq!(mime_type(b"\xff\xd8\xff\xe0 %PDF-"), Some(MimeType::Jpeg), "a picture that mentions it");
        for head in [&b""[..], b"%PDF", b"% PDF-", b"GIF89a", b"PK\x03\x04", b"<html>", b"\xff\xd8"] {
            assert_eq!(mime_type(head), None, "{head:?}");
        }
    }
}
