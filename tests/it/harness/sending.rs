//! Requests as client libraries spell them: bodies of any type, or of none.

use std::future::ready;
use std::io;

use axum::body::{Body, Bytes};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt;
use futures::channel::{mpsc, oneshot};
use futures::stream::once;
use http::{Method, header, request};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{Answer, Client};

pub const FORM: Option<&str> = Some("application/x-www-form-urlencoded");
pub const JSON: Option<&str> = Some("application/json");
pub const MULTIPART: Option<&str> = Some("multipart/form-data; boundary=parting");

/// Sends a body of this type, or of none.
pub async fn send(
    client: &Client,
    method: Method,
    path: &str,
    content_type: Option<&str>,
    body: impl Into<Body>,
) -> Answer {
    let mut request = client.request(method, path);
    if let Some(content_type) = content_type {
        request = request.header(header::CONTENT_TYPE, content_type);
    }
    client.send(request.body(body.into()).unwrap()).await
}

/// Sends a request with any headers, which the document need not describe.
pub async fn request(client: &Client, method: Method, path: &str, headers: &[(&str, &str)]) -> Answer {
    let request = headers
        .iter()
        .fold(client.request(method, path), |request, (name, value)| request.header(*name, *value));
    client.send_unchecked(request.body(Body::empty()).unwrap()).await
}

/// Posts a JSON body with any headers.
pub async fn post_with(client: &Client, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let request = client.request(Method::POST, path).header(header::CONTENT_TYPE, "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    client.send(request.body(Body::from(body.to_string())).unwrap()).await
}

/// Sends a request whose body is not complete: the server has read the head and the first bytes. The second value sends the rest.
pub async fn send_slowly(
    client: &Client,
    request: request::Builder,
    text: String,
) -> (JoinHandle<Answer>, impl FnOnce() + use<>) {
    let (pieces, rest) = mpsc::unbounded::<Result<Bytes, io::Error>>();
    let first = once(ready(Ok(text[..10].to_owned().into())));
    // The server asks for the rest once it has the first piece.
    let (asks, is_asked) = oneshot::channel();
    let rest = once(async move {
        asks.send(()).unwrap();
        rest
    });
    let request = request.body(Body::from_stream(first.chain(rest.flatten()))).unwrap();
    let client = client.clone();
    let sending = tokio::spawn(async move { client.send_unchecked(request).await });
    is_asked.await.unwrap();
    (sending, move || pieces.unbounded_send(Ok(text[10..].to_owned().into())).unwrap())
}

/// Returns Basic credentials of any text.
pub fn basic(credentials: &str) -> String {
    format!("Basic {}", STANDARD.encode(credentials))
}

/// Returns the parameters as a form names them: nested ones name[key].
pub fn pairs(parameters: &Value) -> Vec<(String, String)> {
    fn walk(name: &str, value: &Value, pairs: &mut Vec<(String, String)>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let name = if name.is_empty() { key.clone() } else { format!("{name}[{key}]") };
                    walk(&name, value, pairs);
                }
            }
            Value::String(text) => pairs.push((name.to_owned(), text.clone())),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                pairs.push((name.to_owned(), value.to_string()));
            }
        }
    }
    let mut list = Vec::new();
    walk("", parameters, &mut list);
    list
}

/// Returns a form, or the query of the same parameters; brackets are literal or encoded.
pub fn form(parameters: &Value, raw_brackets: bool) -> String {
    let encode = |text: &str| {
        text.bytes().fold(String::new(), |encoded, byte| match byte {
            b'[' | b']' if raw_brackets => encoded + &char::from(byte).to_string(),
            byte if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) => {
                encoded + &char::from(byte).to_string()
            }
            byte => encoded + &format!("%{byte:02X}"),
        })
    };
    let pairs = pairs(parameters).into_iter();
    pairs.map(|(name, text)| format!("{}={}", encode(&name), encode(&text))).collect::<Vec<_>>().join("&")
}

/// Returns a body for the boundary of [`MULTIPART`].
pub fn multipart(parameters: &Value) -> String {
    let parts = pairs(parameters).into_iter().map(|(name, text)| {
        format!("--parting\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
    });
    parts.collect::<String>() + "--parting--\r\n"
}
