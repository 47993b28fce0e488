use std::fmt;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde::Deserialize;

use crate::models::{ErrorBody, ErrorMessage};

/// What programs tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The card was declined; nothing was charged. The code says why.
    CardDeclined,
    /// Parameters are missing or invalid; [`Error::messages`] has each.
    InvalidResource,
    /// The key is none of the account.
    Unauthorized,
    /// There is no such record.
    NotFound,
    /// Another request is still in flight.
    Conflict,
    /// There were too many requests.
    RateLimited,
    /// The server or the acquirer failed, and repeating did not help: repeat the request later, under the same
    /// `Idempotency-Key`: [`Error::idempotency_key`] has it.
    Server,
    /// There was no response, and repeating did not help: repeat the request later, under the same `Idempotency-Key`:
    /// [`Error::idempotency_key`] has it.
    NoResponse,
    /// The code says what; or the request could not be made, or the response not be read, and the source says why.
    Other,
}

/// The server refused a request, or gave no response.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    status: Option<StatusCode>,
    body: Box<ErrorBody>,
    request_id: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    pub(crate) retry_after: Option<Duration>,
    idempotency_key: Option<String>,
}

/// `insufficient_service_balance` comes in a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Refusal {
    One(ErrorBody),
    List([ErrorBody; 1]),
}

impl Error {
    pub(crate) fn refused(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let text = |name: &str| headers.get(name)?.to_str().ok();
        let body = match serde_json::from_slice(body) {
            Ok(Refusal::One(body) | Refusal::List([body])) => body,
            Err(_) => ErrorBody::default(),
        };
        Self {
            kind: kind(status, &body.error),
            status: Some(status),
            request_id: text("X-Request-Id").map(Into::into),
            retry_after: text(RETRY_AFTER.as_str())
                .and_then(|after| after.parse().ok())
                .map(Duration::from_secs),
            body: body.into(),
            source: None,
            idempotency_key: None,
        }
    }

    fn without_response(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self {
            kind,
            status: None,
            body: Box::default(),
            request_id: None,
            source: Some(source.into()),
            retry_after: None,
            idempotency_key: None,
        }
    }

    /// Of a request with this key.
    pub(crate) fn under(self, idempotency_key: Option<String>) -> Self {
        Self { idempotency_key, ..self }
    }

    /// Whether repeating the request may help.
    pub(crate) fn is_transient(&self) -> bool {
        match self.kind {
            ErrorKind::RateLimited | ErrorKind::NoResponse => true,
            ErrorKind::Conflict => self.retry_after.is_some(),
            _ => self.status.is_some_and(|status| status.is_server_error()),
        }
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The status of the response, if there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.status.map(|status| status.as_u16())
    }

    /// The error code, "" if there was none; docs/errors.md lists them.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.body.error
    }

    /// The sentence of the code.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.body.error_description
    }

    /// One for each fault of a parameter.
    #[must_use]
    pub fn messages(&self) -> &[ErrorMessage] {
        self.body.messages.as_deref().unwrap_or_default()
    }

    /// X-Request-Id of the response.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The `Idempotency-Key` that was sent, none if the request changes nothing.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&str> {
        self.idempotency_key.as_deref()
    }

    /// The charge that was refused or declined.
    #[must_use]
    pub fn charge_token(&self) -> Option<&str> {
        self.body.charge_token.as_deref()
    }
}

fn kind(status: StatusCode, code: &str) -> ErrorKind {
    match (code, status.as_u16()) {
        (
            "card_declined" | "insufficient_funds" | "invalid_cvv" | "invalid_card" | "processing_error"
            | "suspected_fraud" | "expired_card" | "lost_card" | "stolen_card" | "unknown",
            _,
        ) => ErrorKind::CardDeclined,
        ("invalid_resource" | "unprocessable_entity", _) => ErrorKind::InvalidResource,
        (_, 500..) => ErrorKind::Server,
        (_, 401) => ErrorKind::Unauthorized,
        (_, 404) => ErrorKind::NotFound,
        (_, 409) => ErrorKind::Conflict,
        (_, 429) => ErrorKind::RateLimited,
        _ => ErrorKind::Other,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status(), self.request_id()) {
            (Some(status), Some(id)) => {
                write!(f, "{status} {}: {} (request {id})", self.code(), self.description())
            }
            (Some(status), None) => write!(f, "{status} {}: {}", self.code(), self.description()),
            (None, _) if self.kind == ErrorKind::NoResponse => write!(f, "there was no response"),
            (None, _) => write!(f, "the request could not be made, or its response not be read"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        let kind = if error.is_builder() { ErrorKind::Other } else { ErrorKind::NoResponse };
        Self::without_response(kind, error)
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::without_response(ErrorKind::Other, error)
    }
}

/// Of a file to upload.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::without_response(ErrorKind::Other, error)
    }
}
