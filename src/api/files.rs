//! Files (specification, Endpoints, Files), and the presigned links to them.

use std::fmt::Write;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use web::handlers::get;

use super::answer::{Deleted, Envelope, Shown};
use super::extract::{Input, Path};
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::{UploadRequest, WriteRequest};
use crate::error::Error;
use crate::error::ErrorCode::{DisputeEvidenceAlreadySubmitted, InvalidResource, NotFound};
use crate::services::files::params::{Link, NewFile};
use crate::services::files::view::File;
use crate::services::{Account, disputes, files};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default().routes(routes!(create_file)).routes(routes!(get_file, delete_file))
}

/// Upload a file.
///
/// Keeps a file, as evidence in disputes: a PDF, PNG or JPEG of at most 10 MiB.
#[utoipa::path(post, path = "/files", tag = "Files",
    request_body(content = NewFile, content_type = "multipart/form-data", example = json!({ "file": "receipt.pdf" })),
    responses((status = 200, description = "The file", body = Envelope<File>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn create_file(
    State(app): State<AppState>,
    UploadRequest { request, upload }: UploadRequest,
) -> Result<Shown<File>, Error> {
    let params = request.input.params::<NewFile>();
    request.answer(files::create(&app.ctx, &request.caller, params, upload)).await
}

/// Get a file.
///
/// Returns the details of a file, with a fresh link to its content that is good for an hour.
#[utoipa::path(get, path = "/files/{file_token}", tag = "Files",
    responses((status = 200, description = "The file", body = Envelope<File>)),
    extensions(("x-refusals" = json!([NotFound]))))]
pub async fn get_file(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<File>, Error> {
    Ok(Shown(files::show(&app, &account, &token).await?))
}

/// Delete a file.
///
/// Deletes a file, unless it is part of evidence that was submitted. A batch of evidence that is still open forgets it.
#[utoipa::path(delete, path = "/files/{file_token}", tag = "Files",
    responses((status = 204, description = "Deleted")),
    extensions(("x-rights" = json!({ "disputes": "write" })), ("x-refusals" = json!([DisputeEvidenceAlreadySubmitted, NotFound]))))]
pub async fn delete_file(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(disputes::files::delete(&app, &request.caller, &token)).await
}

/// Returns the routes of presigned links: outside of the API, without a key.
pub fn downloads() -> Router<AppState> {
    Router::new().route("/files/{account_token}/{file_token}", get(download))
}

const CONTENT_SECURITY_POLICY: HeaderName = HeaderName::from_static("content-security-policy");

/// Sends a file. Browsers save uploaded content and never render it on this server's origin.
async fn download(
    State(app): State<AppState>,
    Path((account, file)): Path<(String, String)>,
    input: Input,
) -> Result<Response, Error> {
    let Link { expires, signature } = input.params::<Link>().value;
    let download = files::download(&app, &account, &file, expires.as_deref(), signature.as_deref()).await?;
    let headers = [
        (header::CONTENT_TYPE, download.file.mime_type.code().to_owned()),
        (header::CONTENT_LENGTH, download.file.size.to_string()),
        (header::CONTENT_DISPOSITION, attachment(&download.file.original_filename)),
        (CONTENT_SECURITY_POLICY, "sandbox".to_owned()),
    ];
    Ok((headers, Body::from_stream(download.content)).into_response())
}

/// Builds Content-Disposition. Only the last segment of the name counts, because the others could lead a client to
/// another folder; it appears once in characters that need no quotes, and once as it is.
fn attachment(filename: &str) -> String {
    let name = filename.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
    let name = if name.trim_matches(['.', ' ']).is_empty() { "file" } else { name.as_str() };
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    let fallback: String = name.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect();
    let encoded = name.bytes().fold(String::new(), |mut text, byte| {
        if plain(char::from(byte)) {
            text.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    });
    format!("attachment; filename=\"{fallback}\"; filename*=UTF-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_and_breaks_out_of_nothing() {
        for (name, fallback, encoded) in [
            ("receipt.pdf", "receipt.pdf", "receipt.pdf"),
            ("../../etc/passwd", "passwd", "passwd"),
            ("C:\\a\\b c.pdf", "b_c.pdf", "b%20c.pdf"),
            ("a\"; filename=\"b.exe", "a___filename__b.exe", "a%22%3B%20filename%3D%22b.exe"),
            ("é.png", "_.png", "%C3%A9.png"),
            ("a\r\nSet-Cookie: b", "aSet-Cookie__b", "aSet-Cookie%3A%20b"),
            ("..", "file", "file"),
            ("a/", "file", "file"),
            ("", "file", "file"),
        ] {
            let expected = format!("attachment; filename=\"{fallback}\"; filename*=UTF-8''{encoded}");
            assert_eq!(attachment(name), expected, "{name:?}");
        }
    }
}
