//! As much of HTTP as tests need: one request a connection.

use std::io::{self, Read, Write};
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

/// Sends a request and returns status and body.
pub fn exchange(url: &str, key: &str, call: &str, body: &Value) -> io::Result<(u16, String)> {
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
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, text) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or(io::ErrorKind::InvalidData)?, text.to_owned()))
}
