//! The names of a multipart body's parts.

use axum::extract::multipart::Field;
use axum::http::header::CONTENT_DISPOSITION;
use percent_encoding::percent_decode_str;

/// Returns the name of the file in a part, or nothing if the part is a text. `filename*` (RFC 5987) says it better than `filename` beside
/// it, which .NET spells as a header of mail does. The reader of the body knows only `filename` in small letters and in UTF-8; some
/// clients send other bytes.
pub(super) fn file_name(part: &Field<'_>) -> Option<String> {
    let disposition =
        part.headers().get(CONTENT_DISPOSITION).map(|header| String::from_utf8_lossy(header.as_bytes()));
    let attribute = |wanted: &str| {
        disposition.as_ref()?.split(';').find_map(|attribute| {
            let (name, value) = attribute.split_once('=')?;
            name.trim().eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned())
        })
    };
    attribute("filename*")
        .map(|value| extended_value(&value))
        .or_else(|| part.file_name().map(str::to_owned))
        .or_else(|| attribute("filename").map(|value| value.trim_matches('"').to_owned()))
}

/// Reads `charset'language'text`, of which UTF-8 is the charset; other bytes are replaced.
fn extended_value(value: &str) -> String {
    let text = value.splitn(3, '\'').nth(2).unwrap_or(value);
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
