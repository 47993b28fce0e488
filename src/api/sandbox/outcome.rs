//! The header that forces the outcome of one attempt (`docs/decisions.md`, 270).

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::HeaderName;
use axum::http::request::Parts;

use crate::api::state::AppState;
use crate::config::Environment;

/// The header's name.
pub const SANDBOX_OUTCOME: HeaderName = HeaderName::from_static("sandbox-outcome");

/// The value of a `Sandbox-Outcome` header.
pub struct OrderedOutcome(Option<String>);

impl OrderedOutcome {
    /// Returns the value.
    pub fn word(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl FromRequestParts<AppState> for OrderedOutcome {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self, Infallible> {
        let word = parts.headers.get(SANDBOX_OUTCOME).filter(|_| app.info.environment == Environment::Test);
        // A value that is not text is an unknown word, and gets that error.
        Ok(Self(word.map(|word| String::from_utf8_lossy(word.as_bytes()).into_owned())))
    }
}
