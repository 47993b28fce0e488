//! The headers that force the outcome of one attempt, and how its verification goes (`docs/decisions.md`, 270, 470).

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};

use crate::api::state::AppState;
use crate::config::Environment;

/// The header that forces the outcome of an attempt.
pub const SANDBOX_OUTCOME: HeaderName = HeaderName::from_static("sandbox-outcome");

/// The header that says how a verification with 3-D Secure goes.
pub const SANDBOX_CHALLENGE: HeaderName = HeaderName::from_static("sandbox-challenge");

/// The values of the sandbox's headers.
pub struct SandboxHeaders {
    /// The value of a `Sandbox-Outcome` header.
    pub outcome: Option<String>,
    /// The value of a `Sandbox-Challenge` header.
    pub challenge: Option<String>,
}

impl FromRequestParts<AppState> for SandboxHeaders {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self, Infallible> {
        Ok(Self {
            outcome: ordered(&parts.headers, &SANDBOX_OUTCOME, app),
            challenge: ordered(&parts.headers, &SANDBOX_CHALLENGE, app),
        })
    }
}

/// Returns the value of a header of the sandbox, which a live server ignores.
fn ordered(headers: &HeaderMap, name: &HeaderName, app: &AppState) -> Option<String> {
    let word = headers.get(name).filter(|_| app.info.environment == Environment::Test)?;
    // A value that is not text is an unknown word, and gets that error.
    Some(String::from_utf8_lossy(word.as_bytes()).into_owned())
}
