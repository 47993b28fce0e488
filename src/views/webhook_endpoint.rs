//! Webhook endpoint (specification, Webhook endpoint).

use std::fmt::{self, Display, Formatter};

use entity::{Timestamp, WebhookEndpointToken, webhook_endpoint};
use macros::view;
use serde::Serialize;

use crate::sensitive::secret::Secret;

/// Where the account's events are sent.
#[view(secret)]
pub struct WebhookEndpoint {
    /// `whe_...`
    token: WebhookEndpointToken,
    /// What its webhooks are signed with, as the Standard Webhooks specification writes it.
    #[schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    key: String,
    /// Where webhooks are sent.
    #[schema(example = "https://example.com/webhooks")]
    url: String,
    /// When it was registered.
    created_at: Timestamp,
    /// When it last changed.
    updated_at: Timestamp,
}

impl WebhookEndpoint {
    /// As its row shows it, with its opened key.
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

/// What a ping tells: the endpoint that it was sent to, without its key.
#[derive(Debug, Clone, Serialize)]
pub struct PingedEndpoint {
    token: WebhookEndpointToken,
    url: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<webhook_endpoint::Model> for PingedEndpoint {
    fn from(row: webhook_endpoint::Model) -> Self {
        Self { token: row.id, url: row.url, created_at: row.created_at, updated_at: row.updated_at }
    }
}

/// An endpoint's fresh key, and how long the former one signs beside it.
#[view(secret)]
pub struct RotatedKey {
    /// `whe_...`
    token: WebhookEndpointToken,
    /// What its webhooks are signed with from now on.
    #[schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    key: String,
    /// Until when the former key signs as well; null where it has ended.
    former_key_until: Option<Timestamp>,
}

impl RotatedKey {
    /// After a rotation.
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
