//! A multipart body with a file, received piece by piece and never whole in memory.

use std::pin::Pin;

use axum::BoxError;
use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;
use base::request_context;
use base::request_permits::release_permit;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::Peekable;
use http_body_util::Limited;
use outbound::blobs::Upload;
use serde_json::Value;
use tokio::time::timeout;

use super::body::{NO_MULTIPART, essence, with_query};
use super::form::Form;
use super::part::file_name;
use super::{Input, content_type, refusal, refuse_announced};
use crate::api::state::AppState;
use crate::error::{Error, ErrorCode};
use crate::limits::{
    BODY_BYTES_MAX, FILE_BYTES_MAX, UPLOAD_AHEAD_BYTES_MAX, UPLOAD_BYTES_MAX, UPLOAD_IDLE_TIMEOUT,
    UPLOAD_TEXT_BYTES_KEPT,
};

/// The name of the file's part.
const FILE: &str = "file";
const BROKEN: &str = "The body was cut off or is not valid multipart/form-data";

/// Receives parameters and a file. The file's parameter is its digest and its name, so that an Idempotency-Key covers
/// the file. Of two files the last counts; other bodies are read as everywhere.
///
/// Refusals: `unsupported_media_type`, `payload_too_large`, `bad_request`, `gateway_timeout` if no byte arrives for too
/// long, `service_unavailable`.
pub async fn receive(request: Request, app: &AppState) -> Result<(Input, Option<Upload>), Error> {
    // An empty body is an empty form, whatever its type.
    let empty = request.body().is_end_stream();
    let sent = if empty { "" } else { content_type(request.headers())?.unwrap_or_default() };
    if essence(sent) != "multipart/form-data" {
        return Ok((Input::from_request(request, app).await?, None));
    }
    refuse_announced(request.headers(), UPLOAD_BYTES_MAX)?;
    let _permit = app.admission.upload().await?;
    // It takes as long as the client's connection does.
    release_permit();
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let (head, body) = request.into_parts();
    let mut pieces = body.into_data_stream().peekable();
    // Whether a body of no announced length is empty is known once it ends.
    if await_client(Pin::new(&mut pieces).peek()).await?.is_none() {
        app.admission.enter(request_context::account()).await?;
        return Ok((Input::from_request(Request::from_parts(head, Body::empty()), app).await?, None));
    }
    let parts = Multipart::from_request(Request::from_parts(head, piece_by_piece(pieces)), app).await;
    let (mut parts, mut form, mut upload) =
        (parts.map_err(|_| refusal(NO_MULTIPART))?, Form::default(), None);
    let (mut text_bytes, mut others) = (0, Vec::new());
    while let Some(mut part) = in_time(parts.next_field()).await? {
        let name = part.name().unwrap_or_default().to_owned();
        match file_name(&part) {
            Some(filename) if name == FILE => upload = Some(file(app, part, filename).await?),
            Some(_) => {
                while piece(&mut part).await?.is_some() {}
                others.push(name);
            }
            None => {
                let text = text(part, &mut text_bytes).await?;
                form.insert(&name, text).map_err(refusal)?;
            }
        }
    }
    app.admission.enter(request_context::account()).await?;
    // Strict handling refuses files that no parameter takes; otherwise a blank text changes nothing.
    for other in others.into_iter().filter(|name| !name.is_empty()) {
        form.tree.entry(other).or_insert_with(|| "".into());
    }
    // A browser sends an empty file without a name if the user chose none.
    let upload = upload.filter(|upload| upload.size > 0 || !upload.filename.is_empty());
    if let Some(upload) = &upload {
        // U+0000 in its name is a fault of the file, not one more of the parameter.
        form.tree.insert(FILE.into(), Value::String(upload.fingerprint().replace('\0', "\u{fffd}")));
    }
    let tree = with_query(&method, uri.query(), form.tree).map_err(refusal)?;
    Ok((Input::new(app, tree, None)?, upload))
}

/// Cuts a body off if too much of it is outside of the parts' content: the multipart reader buffers all of that.
fn piece_by_piece(pieces: Peekable<BodyDataStream>) -> Body {
    let mut came: u64 = 0;
    let pieces = pieces.map(move |piece| {
        if came.saturating_sub(request_context::upload_bytes()) > UPLOAD_AHEAD_BYTES_MAX {
            return Err(BoxError::from(BROKEN));
        }
        came += piece.as_ref().map_or(0, |piece| piece.len() as u64);
        piece.map_err(BoxError::from)
    });
    // Outermost: the multipart reader looks here for the error that says the body is too long.
    Body::new(Limited::new(Body::from_stream(pieces), UPLOAD_BYTES_MAX))
}

async fn file(app: &AppState, mut part: Field<'_>, filename: String) -> Result<Upload, Error> {
    let failed = |error: std::io::Error| {
        tracing::error!(%error, "an upload cannot be written");
        Error::from(ErrorCode::ServiceUnavailable)
    };
    let mut upload = Upload::begin(&app.settings.incoming, filename, FILE_BYTES_MAX).await.map_err(failed)?;
    while let Some(bytes) = piece(&mut part).await? {
        upload.write(&bytes).await.map_err(failed)?;
    }
    Ok(upload)
}

/// Reads a text. All texts together may be as long as any other request's body, and only the beginning of each is kept:
/// no parameter of an upload is longer, so a cut text is refused by its own check or belongs to an unknown parameter.
async fn text(mut part: Field<'_>, so_far: &mut usize) -> Result<String, Error> {
    let (mut text, mut is_cut) = (Vec::new(), false);
    while let Some(bytes) = piece(&mut part).await? {
        *so_far += bytes.len();
        if *so_far > BODY_BYTES_MAX {
            return Err(ErrorCode::PayloadTooLarge.into());
        }
        let kept = UPLOAD_TEXT_BYTES_KEPT.saturating_sub(text.len()).min(bytes.len());
        text.extend_from_slice(&bytes[..kept]);
        is_cut |= kept < bytes.len();
    }
    if is_cut {
        return Ok(String::from_utf8_lossy(&text).into_owned());
    }
    String::from_utf8(text).map_err(|_| refusal(NO_MULTIPART))
}

/// Reads the next piece of a part.
async fn piece(part: &mut Field<'_>) -> Result<Option<Bytes>, Error> {
    let piece = in_time(part.chunk()).await?;
    request_context::add_upload_bytes(piece.as_ref().map_or(0, Bytes::len));
    Ok(piece)
}

/// Waits for the next piece of the body, but not too long.
async fn in_time<T>(
    next: impl Future<Output = Result<Option<T>, MultipartError>>,
) -> Result<Option<T>, Error> {
    await_client(next).await?.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ErrorCode::PayloadTooLarge.into(),
        _ => Error::explained(ErrorCode::BadRequest, BROKEN),
    })
}

/// Waits for the client, but not too long.
async fn await_client<T>(next: impl Future<Output = T>) -> Result<T, ErrorCode> {
    timeout(UPLOAD_IDLE_TIMEOUT, next).await.map_err(|_| ErrorCode::GatewayTimeout)
}
