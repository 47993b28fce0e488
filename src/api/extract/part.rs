//! The names of a multipart body's parts.

use axum::extract::multipart::Field;
use axum::http::header::CONTENT_DISPOSITION;
use percent_encoding::percent_decode_str;

/// Returns the name of the file in a part, or nothing if the part is a text. The reader of the body knows only `filename` in small
/// letters and in UTF-8; some clients send other bytes, or only `filename*` (RFC 5987).
pub(super) fn file_name(part: &Field<'_>) -> Option<String> {
    let otherwise = || {
        let disposition = String::from_utf8_lossy(part.headers().get(CONTENT_DISPOSITION)?.as_bytes());
        disposition.split(';').find_map(|attribute| {
            let (name, value) = attribute.split_once('=')?;
            let value = value.trim();
            match name.trim().to_ascii_lowercase().as_str() {
                "filename*" => Some(extended_value(value)),
                "filename" => Some(value.trim_matches('"').to_owned()),
                _ => None,
            }
        })
    };
    part.file_name().map(str::to_owned).or_else(otherwise)
}

/// Reads `charset'language'text`, of which UTF-8 is the charset; other bytes are replaced.
fn extended_value(value: &str) -> String {
    let text = value.splitn(3, '\'').nth(2).unwrap_or(value);
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
