//! Finds where requests begin and end on a connection, and refuses malformed heads before the HTTP library reads them
//! (`docs/decisions.md`, 39). The library answers such heads without a body, and accepts some that two servers in a row
//! may read differently.

use http::{HeaderName, StatusCode, Uri, header};
use httparse::{EMPTY_HEADER, Error, Header, Status};

use crate::limits::{HEAD_BYTES_MAX, HEADERS_MAX};

/// The next part of a connection's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputPart {
    /// The head of a request.
    Head,
    /// This many bytes of a body.
    Body(u64),
    /// The size line of a chunk.
    ChunkSize,
    /// This many bytes of a chunk, including its line end.
    Chunk(u64),
    /// A line after the last chunk.
    Trailer,
    /// Nothing more is read: a head was refused.
    Refused,
    /// The end of the input.
    End,
}

/// The reason why a head is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedHead {
    /// The status of the response.
    pub status: StatusCode,
    /// The sentence of the response's body.
    pub why: &'static str,
    /// The head's request id, as the client sent it.
    pub request_id: Option<Vec<u8>>,
}

impl RefusedHead {
    fn new(status: StatusCode, why: &'static str) -> Self {
        Self { status, why, request_id: None }
    }
}

/// Longer ids are replaced anyway.
const REQUEST_ID_BYTES_MAX: usize = 128;

const BARE_LF: &str = "A line of the head does not end in CRLF";
const NOT_HTTP: &str = "This is not a request of HTTP/1.1";
const URI_TOO_LONG: &str = "The first line of the request is longer than 64 KiB";
const HEAD_TOO_LARGE: &str = "The head of the request is larger than 64 KiB or has more than 100 headers";
const HOST: &str = "A request of HTTP/1.1 has exactly one Host header";
const TRANSFER_CODING: &str = "The only Transfer-Encoding that is understood is chunked";
const LENGTH: &str = "The Content-Length is not a number, or there are several";
const LENGTH_AND_CODING: &str = "A request has either a Content-Length or a Transfer-Encoding";

/// Returns the length of the head at the start of the bytes, once it is complete. The first `seen` bytes were searched
/// before.
pub fn head_length(bytes: &[u8], seen: &mut usize) -> Result<Option<usize>, RefusedHead> {
    while let Some(at) = bytes[*seen..].iter().position(|byte| *byte == b'\n') {
        let (line, end) = (*seen, *seen + at + 1);
        *seen = end;
        match bytes[line..end].strip_suffix(b"\r\n") {
            None => return Err(RefusedHead::new(StatusCode::BAD_REQUEST, BARE_LF)),
            Some(b"") if end <= HEAD_BYTES_MAX => return Ok(Some(end)),
            Some(b"") => return Err(too_long(bytes)),
            Some(_) => {}
        }
    }
    if bytes.len() < HEAD_BYTES_MAX { Ok(None) } else { Err(too_long(bytes)) }
}

fn too_long(head: &[u8]) -> RefusedHead {
    if head.iter().take(HEAD_BYTES_MAX).any(|byte| *byte == b'\n') {
        RefusedHead::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, HEAD_TOO_LARGE)
    } else {
        RefusedHead::new(StatusCode::URI_TOO_LONG, URI_TOO_LONG)
    }
}

/// Returns what follows a complete head.
pub fn after_head(head: &[u8]) -> Result<InputPart, RefusedHead> {
    let mut headers = [EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(Status::Complete(_)) => {}
        Err(Error::TooManyHeaders) => {
            return Err(RefusedHead::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, HEAD_TOO_LARGE));
        }
        Ok(Status::Partial) | Err(_) => return Err(RefusedHead::new(StatusCode::BAD_REQUEST, NOT_HTTP)),
    }
    let path = request.path.unwrap_or_default();
    let judged = after_headers(request.version == Some(1), path, request.headers);
    judged.map_err(|(status, why)| RefusedHead {
        request_id: values(request.headers, &HeaderName::from_static("x-request-id"))
            .next()
            .filter(|id| id.len() <= REQUEST_ID_BYTES_MAX)
            .map(<[u8]>::to_vec),
        ..RefusedHead::new(status, why)
    })
}

fn after_headers(
    is_newer: bool,
    path: &str,
    headers: &[Header<'_>],
) -> Result<InputPart, (StatusCode, &'static str)> {
    if path.parse::<Uri>().is_err() {
        return Err((StatusCode::BAD_REQUEST, NOT_HTTP));
    }
    // HTTP/1.0 may lack it.
    let hosts = values(headers, &header::HOST).count();
    if hosts > 1 || (is_newer && hosts == 0) {
        return Err((StatusCode::BAD_REQUEST, HOST));
    }
    let mut lengths = values(headers, &header::CONTENT_LENGTH).map(number);
    let length = match lengths.next() {
        None => None,
        Some(Some(length)) if lengths.all(|other| other == Some(length)) => Some(length),
        Some(_) => return Err((StatusCode::BAD_REQUEST, LENGTH)),
    };
    let mut codings = values(headers, &header::TRANSFER_ENCODING);
    match (codings.next(), codings.next()) {
        (None, _) => Ok(length.filter(|length| *length > 0).map_or(InputPart::Head, InputPart::Body)),
        // Transfer-Encoding is new in HTTP/1.1.
        (Some(_), _) if !is_newer => Err((StatusCode::BAD_REQUEST, NOT_HTTP)),
        // A proxy in front may have gone by the length.
        (Some(_), _) if length.is_some() => Err((StatusCode::BAD_REQUEST, LENGTH_AND_CODING)),
        (Some(coding), None) if coding.trim_ascii().eq_ignore_ascii_case(b"chunked") => {
            Ok(InputPart::ChunkSize)
        }
        (Some(_), _) => Err((StatusCode::NOT_IMPLEMENTED, TRANSFER_CODING)),
    }
}

fn values<'a>(headers: &'a [Header<'_>], name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    headers.iter().filter(move |header| name == header.name).map(|header| header.value)
}

fn number(digits: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(digits).ok()?;
    let number = text.bytes().all(|digit| digit.is_ascii_digit()).then(|| text.parse().ok())?;
    // The library cannot count further.
    number.filter(|number| *number <= u64::MAX / 2)
}

/// Returns what follows the size line of a chunk; None if the line has no valid size.
pub fn after_chunk_size(line: &[u8]) -> Option<InputPart> {
    // The parser reads a line without digits as 0, and accepts anything after the line end.
    line.strip_suffix(b"\r\n").filter(|size| size.first().is_some_and(u8::is_ascii_hexdigit))?;
    let Ok(Status::Complete((_, size))) = httparse::parse_chunk_size(line) else { return None };
    if size == 0 { Some(InputPart::Trailer) } else { size.checked_add(2).map(InputPart::Chunk) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(head: &str) -> Result<InputPart, u16> {
        let mut seen = 0;
        let length = head_length(head.as_bytes(), &mut seen).map_err(|refused| refused.status.as_u16())?;
        assert_eq!(length, Some(head.len()), "{head}");
        after_head(head.as_bytes()).map_err(|refused| refused.status.as_u16())
    }

    #[test]
    fn a_head_says_what_comes_behind_it() {
        for (headers, part) in [
            ("", InputPart::Head),
            ("Content-Length: 0\r\n", InputPart::Head),
            ("Content-Length: 12\r\n", InputPart::Body(12)),
            ("Content-Length: 12\r\ncontent-length: 12\r\n", InputPart::Body(12)),
            ("Transfer-Encoding: Chunked \r\n", InputPart::ChunkSize),
        ] {
            assert_eq!(
                judged(&format!("POST / HTTP/1.1\r\nHost: x\r\n{headers}\r\n")),
                Ok(part),
                "{headers}"
            );
        }
        assert_eq!(judged("GET / HTTP/1.0\r\n\r\n"), Ok(InputPart::Head));
    }

    #[test]
    fn a_head_that_servers_may_read_differently_is_refused() {
        for (status, head) in [
            (400, "GET / HTTP/1.1\r\n\r\n"),
            (400, "GET / HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n"),
            (400, "GET / HTTP/1.0\r\nHost: x\r\nhost: x\r\n\r\n"),
            (400, "GET / HTTP/1.1\nHost: x\r\n\r\n"),
            (400, "GET / HTTP/1.1\r\nHost: x\n\r\n"),
            (400, "GET / HTTP/1.1\r\nHost: x\r\n\n"),
            (400, "GET / HTTP/1.1\r\nHost: x\rX: y\r\n\r\n"),
            (400, "GET / HTTP/1.1\r\nHost : x\r\n\r\n"),
            (400, "GET / HTTP/1.1\r\nHost: x\r\n Y: z\r\n\r\n"),
            (400, "GET / HTTP/2.0\r\nHost: x\r\n\r\n"),
            (400, "GET /\r\n\r\n"),
            (400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\n"),
            (400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n"),
            (400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
            (400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\n"),
            (400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
            (400, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n"),
            (400, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n"),
            (501, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
            (501, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n"),
            (
                501,
                "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            ),
        ] {
            assert_eq!(judged(head), Err(status), "{head}");
        }
        let many = "X: y\r\n".repeat(HEADERS_MAX);
        assert_eq!(judged(&format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n")), Err(431));
    }

    #[test]
    fn a_head_that_does_not_end_is_too_large_and_a_first_line_that_does_not_too_long() {
        let long = "x".repeat(HEAD_BYTES_MAX);
        for (status, head) in [(414, format!("GET /{long}")), (431, format!("GET / HTTP/1.1\r\nX: {long}"))] {
            let refused = head_length(head.as_bytes(), &mut 0).map_err(|refused| refused.status.as_u16());
            assert_eq!(refused, Err(status));
        }
        // However its last bytes come.
        let whole = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(HEAD_BYTES_MAX));
        let refused = head_length(whole.as_bytes(), &mut 0).map_err(|refused| refused.status.as_u16());
        assert_eq!(refused, Err(431));
        assert_eq!(head_length(&b"GET / HTTP/1.1\r\nX: y"[..], &mut 0), Ok(None));
    }

    #[test]
    fn a_chunk_has_as_many_bytes_as_its_line_says_and_a_line_end() {
        for (line, part) in [
            ("a\r\n", Some(InputPart::Chunk(12))),
            ("1;x=\"y\"\r\n", Some(InputPart::Chunk(3))),
            ("0\r\n", Some(InputPart::Trailer)),
            ("000\r\n", Some(InputPart::Trailer)),
            ("a\n", None),
            ("\r\n", None),
            ("-1\r\n", None),
            ("0x1\r\n", None),
            ("ffffffffffffffff\r\n", None),
            ("10000000000000000\r\n", None),
        ] {
            assert_eq!(after_chunk_size(line.as_bytes()), part, "{line}");
        }
    }
}
