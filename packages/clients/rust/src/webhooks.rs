use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::HeaderMap;
use serde::Deserialize;
use sha2::Sha256;

use crate::WebhookEvent;

/// Seconds that the time of a webhook may be off this machine's.
const TOLERANCE: u64 = 300;

/// The webhook is not of the server, or too old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WebhookRefused {
    /// The request has not the headers of a webhook.
    Headers,
    /// The webhook is too old, or of the future.
    Time,
    /// The key is none of an endpoint.
    Key,
    /// The signature does not fit.
    Signature,
    /// The body is no event.
    Body,
}

impl fmt::Display for WebhookRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Headers => "the request has not the headers of a webhook",
            Self::Time => "the webhook is too old, or of the future",
            Self::Key => "the key is none of an endpoint",
            Self::Signature => "the signature does not fit",
            Self::Body => "the body is no event",
        })
    }
}

impl std::error::Error for WebhookRefused {}

#[derive(Deserialize)]
struct Type {
    #[serde(rename = "type")]
    kind: String,
}

/// Returns the event of a webhook that was signed with an endpoint's key, `whsec_...`, within the last five minutes: only what the
/// server has signed is an event. The body is the request's, byte for byte.
pub fn verify_webhook(headers: &HeaderMap, body: &[u8], key: &str) -> Result<WebhookEvent, WebhookRefused> {
    let header =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).ok_or(WebhookRefused::Headers);
    let (id, timestamp, signatures) =
        (header("webhook-id")?, header("webhook-timestamp")?, header("webhook-signature")?);
    let sent: u64 = timestamp.parse().map_err(|_| WebhookRefused::Headers)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| WebhookRefused::Time)?.as_secs();
    if now.abs_diff(sent) > TOLERANCE {
        return Err(WebhookRefused::Time);
    }
    let secret = STANDARD.decode(key.strip_prefix("whsec_").unwrap_or(key)).ok();
    let secret = secret.filter(|secret| !secret.is_empty()).ok_or(WebhookRefused::Key)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret).map_err(|_| WebhookRefused::Key)?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    let fits = |signature: &str| {
        let given = signature.strip_prefix("v1,").and_then(|text| STANDARD.decode(text).ok());
        given.is_some_and(|given| mac.clone().verify_slice(&given).is_ok())
    };
    if !signatures.split(' ').any(fits) {
        return Err(WebhookRefused::Signature);
    }
    let read = |body| {
        let Type { kind } = serde_json::from_slice(body)?;
        WebhookEvent::read(&kind, body)
    };
    read(body).map_err(|_| WebhookRefused::Body)
}
