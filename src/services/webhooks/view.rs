//! Webhook (specification, Webhook).

use std::fmt::{self, Display, Formatter};

use base::plain_text::OneLine;
use entity::webhook::{self, WebhookState};
use entity::{EventToken, JsonText, Timestamp, WebhookEndpointToken, WebhookToken};
use macros::view;

/// A request sent to an endpoint for one event.
#[view]
#[expect(clippy::struct_field_names, reason = "the specification's names")]
pub struct Webhook {
    /// `whr_...`
    token: WebhookToken,
    /// `pending`, `retrying`, `completed` or `failed`.
    #[schema(example = "completed")]
    status: &'static str,
    /// The endpoint's URL.
    #[schema(example = "https://example.com/webhooks")]
    url: String,
    /// The token of the event.
    event_token: EventToken,
    /// The token of the endpoint.
    webhook_endpoint_token: WebhookEndpointToken,
    /// The time of the event.
    created_at: Timestamp,
    /// The time at which the endpoint accepted it.
    accepted_at: Option<Timestamp>,
    /// The time of the next delivery; set while `retrying`.
    next_run: Option<Timestamp>,
    /// The number of retries planned since it was made or replayed.
    #[schema(example = 0)]
    retries: i32,
    /// Failures since then, by time: `<date> <time> UTC`.
    #[schema(value_type = std::collections::BTreeMap<String, WebhookError>)]
    errors: JsonText,
}

/// The failure of a delivery.
#[view]
pub struct WebhookError {
    /// `unexpected_http_code`, `connection_failed`, `dns_failed`, `tls_failed`, `timeout` or `forbidden_address`.
    #[schema(example = "unexpected_http_code")]
    pub error: &'static str,
    /// A sentence about the failure.
    #[schema(example = "The endpoint answered with HTTP status 500")]
    pub error_description: String,
}

impl Webhook {
    /// Returns a webhook with the URL of its endpoint.
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
        write!(f, "{}: {} to {}, {}", self.token, self.event_token, OneLine(&self.url), self.status)
    }
}
