//! The names of a multipart body's parts.

use axum::extract::multipart::Field;
use axum::http::header::CONTENT_DISPOSITION;
use percent_encoding::percent_decode_str;

/// Returns the name of the file in a part, or nothing if the part is a text. Some clients send only `filename*` (RFC 5987), which
/// the reader of the body does not know.
pub(super) fn file_name(part: &Field<'_>) -> Option<String> {
    let extended = || {
        let disposition = part.headers().get(CONTENT_DISPOSITION)?.to_str().ok()?;
        disposition.split(';').find_map(|attribute| {
            let (name, value) = attribute.split_once('=')?;
            name.trim().eq_ignore_ascii_case("filename*").then(|| extended_value(value.trim()))
        })
    };
    part.file_name().map(str::to_owned).or_else(extended)
}

/// Reads `charset'language'text`, of which UTF-8 is the charset; other bytes are replaced.
fn extended_value(value: &str) -> String {
    let text = value.splitn(3, '\'').nth(2).unwrap_or(value);
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
