//! Webhook endpoint (specification, Webhook endpoint).

use std::fmt::{self, Display, Formatter};

use base::secret::Secret;
use entity::{Timestamp, WebhookEndpointToken, webhook_endpoint};
use macros::view;

/// A URL of yours to which events are sent.
#[view(secret)]
pub struct WebhookEndpoint {
    /// The endpoint's token, `whe_...`.
    token: WebhookEndpointToken,
    /// The key that signs the webhooks, written as the Standard Webhooks specification writes it.
    #[schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    key: String,
    /// The URL to which events are sent.
    #[schema(example = "https://example.com/webhooks")]
    url: String,
    /// The time of the endpoint's registration.
    created_at: Timestamp,
    /// The time of the endpoint's last change.
    updated_at: Timestamp,
}

impl WebhookEndpoint {
    /// Returns the record of a row, with its decrypted key.
    pub fn new(row: webhook_endpoint::Model, key: &Secret) -> Self {
        Self {
            token: row.id,
            key: key.expose().to_owned(),
            url: row.url,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// The endpoint that a ping tests, without its key.
#[view(of(webhook_endpoint::Model))]
pub struct PingedEndpoint {
    /// The endpoint's token, `whe_...`.
    token: WebhookEndpointToken,
    /// The URL to which events are sent.
    #[schema(example = "https://example.com/webhooks")]
    url: String,
    /// The time of the endpoint's registration.
    created_at: Timestamp,
    /// The time of the endpoint's last change.
    updated_at: Timestamp,
}

/// The new key of an endpoint, and the end of the former one.
#[view(secret)]
pub struct RotatedKey {
    /// The endpoint's token, `whe_...`.
    token: WebhookEndpointToken,
    /// The key that signs the webhooks from now on.
    #[schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    key: String,
    /// The time until which the former key signs as well; null if it has ended.
    former_key_until: Option<Timestamp>,
}

impl RotatedKey {
    /// Returns the record after a rotation.
    pub fn new(token: WebhookEndpointToken, key: &Secret, former_key_until: Option<Timestamp>) -> Self {
        Self { token, key: key.expose().to_owned(), former_key_until }
    }
}

impl Display for RotatedKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.token, self.key)?;
        match self.former_key_until {
            Some(until) => write!(f, "; the former key signs as well until {until}"),
            None => write!(f, "; the former key has ended"),
        }
    }
}
