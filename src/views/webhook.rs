//! Webhook (specification, Webhook).

use std::fmt::{self, Display, Formatter};

use entity::webhook::{self, WebhookState};
use entity::{EventToken, JsonText, Timestamp, WebhookEndpointToken, WebhookToken};
use macros::view;

/// A request sent to an endpoint for one event.
#[view]
#[expect(clippy::struct_field_names, reason = "the specification's names")]
pub struct Webhook {
    /// `whr_...`
    token: WebhookToken,
    /// pending, retrying, completed or failed.
    #[schema(example = "completed")]
    status: &'static str,
    /// Where it is sent.
    #[schema(example = "https://example.com/webhooks")]
    url: String,
    /// What it tells.
    event_token: EventToken,
    /// Whom it tells.
    webhook_endpoint_token: WebhookEndpointToken,
    /// When.
    created_at: Timestamp,
    /// When the endpoint accepted it.
    accepted_at: Option<Timestamp>,
    /// When it is delivered again; set while it is retrying.
    next_run: Option<Timestamp>,
    /// How many retries were planned since it was made or replayed.
    #[schema(example = 0)]
    retries: i32,
    /// What went wrong since then, by time: `<date> <time> UTC`.
    #[schema(value_type = std::collections::BTreeMap<String, WebhookError>)]
    errors: JsonText,
}

/// Why one delivery failed.
#[view]
pub struct WebhookError {
    /// unexpected_http_code, connection_failed, dns_failed, tls_failed, timeout or forbidden_address.
    #[schema(example = "unexpected_http_code")]
    pub error: &'static str,
    /// A sentence about it.
    #[schema(example = "The endpoint answered with HTTP status 500")]
    pub error_description: String,
}

impl Webhook {
    /// A row, and the URL of its endpoint.
    pub fn new(row: webhook::Model, url: String) -> Self {
        Self {
            token: row.id,
            status: row.state.code(),
            url,
            event_token: row.event_id,
            webhook_endpoint_token: row.endpoint_id,
            created_at: row.created_at,
            accepted_at: row.accepted_at,
            next_run: row.due_at.filter(|_| row.state == WebhookState::Retrying),
            retries: row.retries,
            errors: row.errors,
        }
    }
}

impl Display for Webhook {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} to {}, {}", self.token, self.event_token, self.url, self.status)
    }
}
