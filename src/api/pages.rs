//! HTML pages outside of the API: for phones and screen readers, in one column, in reading order. They have no scripts
//! and load nothing.

use std::sync::LazyLock;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorCode};

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{margin:0;font:1.125rem/1.5 system-ui,sans-serif;color:#1b1b1f;background:#f4f4f7}\
main{max-width:26rem;margin:0 auto;padding:1.5rem;overflow-wrap:anywhere}\
h1{font-size:1.5rem;line-height:1.25}\
dl{padding:1rem;border:1px solid #767680;border-radius:.5rem;background:#fff}\
dt{color:#4a4a52}dd{margin:0 0 .75rem;font-weight:600}dd:last-child{margin:0}\
button{display:block;width:100%;margin:0 0 .75rem;padding:.875rem;font:inherit;font-weight:600;border:2px solid #174ea6;border-radius:.5rem;color:#fff;background:#174ea6}\
button.other{color:#174ea6;background:#fff}\
button:focus-visible{outline:3px solid #b3541e;outline-offset:2px}\
.alert{padding:.75rem;border:2px solid #a61717;border-radius:.5rem;color:#7a0f0f;background:#fff}\
.note{color:#4a4a52}\
@media(prefers-color-scheme:dark){\
body{color:#f4f4f7;background:#1b1b1f}dl,.alert,button.other{background:#2a2a30}dt,.note{color:#c8c8d0}\
button{border-color:#a8c7fa;color:#0b1f44;background:#a8c7fa}button.other{color:#a8c7fa}.alert{color:#ffb4ab;border-color:#ffb4ab}}";

/// The hash by which the policy allows the style.
static STYLE_HASH: LazyLock<String> =
    LazyLock::new(|| format!("sha256-{}", STANDARD.encode(Sha256::digest(STYLE))));

pub fn answer(status: StatusCode, page: &Markup) -> Response {
    const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

    guarded((status, [(header::CONTENT_TYPE, HTML)], page.0.clone()).into_response())
}

/// Builds the page for an unknown address, or for a fault of the server.
pub fn refused(error: &Error, unknown: &str, failed: &str) -> Response {
    if error.code() == ErrorCode::NotFound {
        return answer(StatusCode::NOT_FOUND, &notice("Page not found", unknown));
    }
    tracing::error!(error = %error, "a page failed");
    let status = StatusCode::from_u16(error.code().status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer(status, &notice("Something went wrong", failed))
}

fn notice(title: &str, text: &str) -> Markup {
    document(title, &html! { h1 { (title) } p role="alert" { (text) } })
}

/// Renders the frame of a page.
pub fn document(title: &str, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { main { (content) } }
        }
    }
}

/// Adds the headers of a page: it loads nothing, cannot be framed, and does not leak its address. Forms may go to any
/// HTTP address: the markup names this server only, but browsers apply the directive to redirects as well, and the
/// merchant chooses where those lead.
pub fn guarded(response: Response) -> Response {
    let policy = format!(
        "default-src 'none'; style-src '{}'; form-action http: https:; base-uri 'none'; frame-ancestors 'none'",
        *STYLE_HASH
    );
    guarded_by(response, &policy, "no-referrer")
}

/// Adds the headers of a page with this Content-Security-Policy and this Referrer-Policy.
pub fn guarded_by(mut response: Response, policy: &str, referrer: &'static str) -> Response {
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, referrer),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
