//! As much of HTTP as tests need: one request or response a connection.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::net::TcpStream;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::ApiError;

/// Sends a request and returns the record of the response.
pub fn request(url: &str, key: &str, method: &str, path: &str, body: &Value) -> Result<Value, ApiError> {
    let call = format!("{method} {path}");
    let (status, text) =
        exchange(url, key, &call, body).unwrap_or_else(|error| panic!("{call} at {url}: {error}"));
    let mut json: Value = if text.is_empty() {
        Value::Null
    } else {
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{call}: {status} {text}"))
    };
    if (200..300).contains(&status) {
        Ok(json["response"].take())
    } else {
        Err(ApiError { call, status, body: json })
    }
}

fn exchange(url: &str, key: &str, call: &str, body: &Value) -> io::Result<(u16, String)> {
    let host = url.strip_prefix("http://").ok_or_else(|| io::Error::other("only http:// is spoken here"))?;
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let credentials = STANDARD.encode(format!("{key}:"));
    let mut stream = TcpStream::connect(host)?;
    write!(
        stream,
        "{call} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Basic {credentials}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut reader = io::BufReader::new(stream);
    let (line, headers) = head(&mut reader)?;
    let status =
        line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
    Ok((status, String::from_utf8(read_body(&mut reader, &headers)?).map_err(io::Error::other)?))
}

/// Reads the first line, and the headers by names in small letters.
pub fn head(reader: &mut impl BufRead) -> io::Result<(String, BTreeMap<String, String>)> {
    let (mut first, mut headers) = (None, BTreeMap::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match (line.trim_end(), line.split_once(':'), &first) {
            ("", _, Some(_)) => return Ok((first.unwrap_or_default(), headers)),
            (line, _, None) => first = Some(line.to_owned()),
            (_, Some((name, value)), _) => {
                headers.insert(name.to_lowercase(), value.trim().to_owned());
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Reads a body of the length that the headers name.
pub fn read_body(reader: &mut impl BufRead, headers: &BTreeMap<String, String>) -> io::Result<Vec<u8>> {
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}
