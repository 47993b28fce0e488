//! Webhook endpoint (specification, Webhook endpoint).

use entity::{Timestamp, WebhookEndpointToken, webhook_endpoint};
use serde::Serialize;
use utoipa::ToSchema;

use crate::secret::Secret;

/// Where the account's events are sent.
#[derive(Clone, Serialize, ToSchema)]
pub struct WebhookEndpoint {
    /// `whe_...`
    #[schema(value_type = String, example = "whe_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: WebhookEndpointToken,
    /// What its webhooks are signed with, as the Standard Webhooks specification writes it.
    #[schema(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    key: String,
    /// Where webhooks are sent.
    #[schema(example = "https://example.com/webhooks")]
    url: String,
    /// When it was registered.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it last changed.
    #[schema(value_type = String, format = DateTime)]
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
