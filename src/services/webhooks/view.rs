//! Webhook (specification, Webhook).

use std::fmt::{self, Display, Formatter};

use base::plain_text::OneLine;
use entity::webhook::{self, WebhookState};
use entity::{EventToken, JsonText, Timestamp, WebhookEndpointToken, WebhookToken, string_enum};
use macros::view;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use outbound::OutboundError;

/// A request to one of your endpoints about one event.
#[view]
#[expect(clippy::struct_field_names, reason = "the specification's names")]
pub struct Webhook {
    /// The webhook's token, `whr_...`.
    token: WebhookToken,
    /// How far the delivery is.
    status: WebhookState,
    /// The URL of the endpoint.
    #[schema(example = "https://example.com/webhooks")]
    url: String,
    /// The token of the event, `evt_...`.
    event_token: EventToken,
    /// The token of the endpoint, `whe_...`.
    webhook_endpoint_token: WebhookEndpointToken,
    /// The time of the event.
    created_at: Timestamp,
    /// The time at which the endpoint accepted the webhook; null until then.
    accepted_at: Option<Timestamp>,
    /// The time of the next delivery; null unless the status is `retrying`.
    next_run: Option<Timestamp>,
    /// The number of retries that were planned since the webhook was created or replayed.
    #[schema(example = 0)]
    retries: i32,
    /// The failures since then, by their times, as `<date> <time> UTC`.
    #[schema(value_type = std::collections::BTreeMap<String, WebhookError>)]
    errors: JsonText,
}

/// The failure of a delivery.
#[view]
pub struct WebhookError {
    /// The code of the failure.
    #[schema(value_type = WebhookErrorCode)]
    pub error: &'static str,
    /// A sentence that describes the failure.
    #[schema(example = "The endpoint answered with HTTP status 500")]
    pub error_description: String,
}

/// The schema of a failure's code.
pub struct WebhookErrorCode;

impl WebhookErrorCode {
    /// The code of an endpoint that answers without accepting.
    pub const UNEXPECTED_HTTP_CODE: &str = "unexpected_http_code";
}

impl ToSchema for WebhookErrorCode {}

impl PartialSchema for WebhookErrorCode {
    fn schema() -> RefOr<Schema> {
        let answered = (Self::UNEXPECTED_HTTP_CODE, "The endpoint answered with another status than 2xx");
        let unreached = OutboundError::ALL.iter().map(|error| (error.code(), error.description()));
        let words: Vec<_> = std::iter::once(answered).chain(unreached).collect();
        let about = "Why a delivery failed. More reasons may join: accept unknown ones.";
        string_enum::open(about, &words).into()
    }
}

impl Webhook {
    pub fn new(row: webhook::Model, url: String) -> Self {
        Self {
            token: row.id,
            status: row.state,
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
        write!(f, "{}: {} to {}, {}", self.token, self.event_token, OneLine(&self.url), self.status.code())
    }
}
