//! The endpoints that browsers may call with a publishable key, from any origin (`docs/decisions.md`, 59) and by JSONP
//! (60); and what a page of another site may not send.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use url::form_urlencoded;

use super::auth;
use super::extract::body::essence;
use super::request_log_data::log;
use super::server_info::ServerInfo;
use crate::error::{Error, ErrorCode};
use crate::params::FieldErrors;
use crate::params::values::INVALID;

/// Middleware: refuses forms of other sites, and handles preflight requests, CORS headers and JSONP of the browser endpoints; other
/// requests pass through.
pub async fn serve_browsers(State(info): State<Arc<ServerInfo>>, request: Request, next: Next) -> Response {
    if is_foreign_form(&info, &request) {
        return Error::explained(ErrorCode::Forbidden, FOREIGN_FORM).into_response();
    }
    let Some(lists) = browser_endpoint(request.uri().path()) else { return next.run(request).await };
    if *request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
    {
        return preflight(request.headers());
    }
    if *request.method() == Method::GET
        && let Some(script) = script(request.uri())
        // Where GET of the same path lists records, a request with a key is for the list.
        && (script.posts || !lists || auth::basic_user(request.headers()).is_none())
    {
        return Box::pin(jsonp(script, request, next)).await;
    }
    let from_browser = *request.method() == Method::POST;
    let mut response = next.run(request).await;
    if from_browser {
        allow_any_origin(response.headers_mut());
        let exposed = HeaderValue::from_static(EXPOSED);
        response.headers_mut().insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
    response
}

const FOREIGN_FORM: &str = "A page of another site sent this, with a key. Send it from a program; a proxy in between must keep the Host, or forward it.";

/// Returns whether a browser sends what a page of another site may send without the leave of a preflight, a form above all, with the key
/// that somebody has once typed into its dialog.
fn is_foreign_form(info: &ServerInfo, request: &Request) -> bool {
    let headers = request.headers();
    // A browser asks for leave to send another method that changes something.
    if *request.method() != Method::POST
        || !request.uri().path().starts_with("/1/")
        || auth::basic_user(headers).is_none()
    {
        return false;
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let needs_no_leave = || browser_endpoint(request.uri().path()).is_none() && is_form(headers);
    match text("sec-fetch-site") {
        Some(site) => {
            matches!(site, "cross-site" | "same-site")
                && (text("sec-fetch-mode") != Some("cors") || needs_no_leave())
        }
        // A browser says no more over plain HTTP from another machine.
        None => {
            text("origin").is_some_and(|origin| !is_own_origin(info, headers, origin)) && needs_no_leave()
        }
    }
}

/// Returns whether an Origin is this server's.
pub fn is_own_origin(info: &ServerInfo, headers: &HeaderMap, origin: &str) -> bool {
    let host = |host: &str| origin == format!("http://{host}") || origin == format!("https://{host}");
    let names =
        ["host", "x-forwarded-host"].map(|name| headers.get(name).and_then(|value| value.to_str().ok()));
    // A page cannot set what a proxy forwards; each proxy adds the name that it was asked by.
    names.into_iter().flatten().flat_map(|names| names.split(',')).any(|name| host(name.trim()))
        || url::Url::parse(&info.base_url).is_ok_and(|own| own.origin().ascii_serialization() == origin)
}

/// Returns whether a page can send this content type, or none, to another site without asking.
fn is_form(headers: &HeaderMap) -> bool {
    const OF_FORMS: [&str; 3] = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
    let Some(sent) = headers.get(header::CONTENT_TYPE) else { return true };
    // In parameters a browser lets other bytes than ASCII pass.
    sent.to_str().map_or(true, |sent| OF_FORMS.contains(&essence(sent).as_str()))
}

/// Returns None if browsers may not post to the path, and otherwise whether a GET of it lists records.
fn browser_endpoint(path: &str) -> Option<bool> {
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match segments.as_slice() {
        ["1", "bank_accounts" | "cards" | "payment_sources"] => Some(false),
        ["1", "customers", _, "cards"] => Some(true),
        _ => None,
    }
}

/// The headers of an answer that a page of another origin may read.
const EXPOSED: &str = "Idempotent-Replayed, Link, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id";

fn allow_any_origin(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
}

/// The headers that are allowed whatever a browser asks for.
const USUAL_HEADERS: &str =
    "Authorization, Content-Type, Idempotency-Key, X-Request-Id, traceparent, tracestate";

/// Allows every header that the browser asks for, such as those of the page's own tracing: the server ignores what it does not know.
fn preflight(asked: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    allow_any_origin(headers);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
    // A `*` would not be Authorization.
    let mut allowed = USUAL_HEADERS.as_bytes().to_vec();
    if let Some(asked) = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS).filter(|asked| !asked.is_empty()) {
        allowed.extend([b", ", asked.as_bytes()].concat());
    }
    if let Ok(allowed) = HeaderValue::from_bytes(&allowed) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
    headers.insert(header::VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    response
}

struct JsonpParams {
    /// The name of the function to call.
    callback: String,
    /// Whether `_method=POST` is there.
    posts: bool,
}

/// Reads the JSONP parameters leniently, so that the script learns of other errors in the query, too.
fn script(uri: &Uri) -> Option<JsonpParams> {
    let pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    let text = |wanted| pairs.filter(|(name, _)| name == wanted).last().map(|(_, text)| text);
    let script = JsonpParams {
        callback: text("callback")?.into_owned(),
        posts: text("_method").is_some_and(|method| method.eq_ignore_ascii_case("post")),
    };
    // Without `_method=POST` and a valid function name it is a GET like any other.
    (script.posts || well_formed(&script.callback)).then_some(script)
}

/// Runs a JSONP request. A script tag can neither send credentials nor read a status, so the query is posted like a
/// form, and errors are 200 as well.
async fn jsonp(script: JsonpParams, mut request: Request, next: Next) -> Response {
    if !well_formed(&script.callback) {
        return Error::Invalid(FieldErrors::one("callback", INVALID)).into_response();
    }
    if script.posts {
        log(|data| data.is_jsonp = true);
        *request.method_mut() = Method::POST;
        // Only the publishable key counts.
        request.headers_mut().remove(header::AUTHORIZATION);
        request.headers_mut().remove(header::CONTENT_TYPE);
        *request.body_mut() = Body::empty();
    }
    let answer =
        if script.posts { next.run(request).await } else { ErrorCode::MethodNotAllowed.into_response() };
    let (mut parts, body) = answer.into_parts();
    let json = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return Error::internal(error.to_string()).into_response(),
    };
    let script = [b"/**/", script.callback.as_bytes(), b"(", &json, b");"].concat();
    parts.status = StatusCode::OK;
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::WWW_AUTHENTICATE);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/javascript"));
    Response::from_parts(parts, Body::from(script))
}

/// Returns whether the name matches `[A-Za-z_$][A-Za-z0-9_$.]{0,63}`.
fn well_formed(callback: &str) -> bool {
    let first = |letter: char| letter.is_ascii_alphabetic() || matches!(letter, '_' | '$');
    let mut letters = callback.chars();
    callback.len() <= 64
        && letters.next().is_some_and(first)
        && letters.all(|letter| first(letter) || letter.is_ascii_digit() || letter == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_what_a_browser_takes_for_one() {
        let typed = |sent: &[u8]| {
            let value = HeaderValue::from_bytes(sent).unwrap();
            is_form(&HeaderMap::from_iter([(header::CONTENT_TYPE, value)]))
        };
        assert!(is_form(&HeaderMap::new()));
        for form in [
            &b"text/plain"[..],
            b"Text/Plain; charset=utf-8",
            b"multipart/form-data; boundary=x",
            b"text/plain;x=\xe9",
        ] {
            assert!(typed(form), "{}", form.escape_ascii());
        }
        for other in [&b"application/json"[..], b"text/plainer", b"text/html"] {
            assert!(!typed(other), "{}", other.escape_ascii());
        }
    }

    #[test]
    fn a_callback_is_a_plain_name_of_at_most_64_characters() {
        for good in ["F", "_", "$jsonp.cb_1", &"a".repeat(64)] {
            assert!(well_formed(good), "{good}");
        }
        for bad in ["", "1a", ".a", "a(b", "a;b", "a-b", "a b", "é", &"a".repeat(65)] {
            assert!(!well_formed(bad), "{bad}");
        }
    }
}
