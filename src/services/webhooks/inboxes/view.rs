//! Inbox, and what arrived there (`docs/decisions.md`, 375).

use entity::inbox::{self, InboxFault, SignatureVerdict};
use entity::{InboxToken, JsonText, Timestamp, inbox_delivery};
use macros::view;

/// A receiver of webhooks inside the server.
#[view]
pub struct Inbox {
    /// `inb_...`
    token: InboxToken,
    /// For a webhook endpoint.
    #[schema(example = "http://127.0.0.1:8080/inboxes/inb_AZqYv3rVcBKUQ1mHn7tKRw")]
    url: String,
    /// HTTP status of the answer.
    #[schema(example = 200)]
    status: i32,
    /// The delay, in milliseconds.
    latency_ms: i64,
    /// `hang` or `reset`.
    #[schema(value_type = Option<String>)]
    fault: Option<InboxFault>,
    /// Each nth delivery gets this answer, the others 200.
    #[schema(example = 1)]
    every: i64,
    /// Deliveries so far.
    #[schema(example = 2)]
    received: i64,
    /// Creation time.
    created_at: Timestamp,
}

impl Inbox {
    /// Returns the record of a row.
    pub fn new(row: &inbox::Model, url: String) -> Self {
        let &inbox::Model { account_id: _, id, status, latency_ms, fault, every, received, created_at } = row;
        Self { token: id, url, status, latency_ms, fault, every, received, created_at }
    }
}

/// What arrived at an inbox, and its answer.
#[view(of(inbox_delivery::Model))]
pub struct InboxDelivery {
    /// From 1.
    #[schema(example = 1)]
    number: i64,
    /// Names in lower case.
    #[schema(value_type = std::collections::BTreeMap<String, String>,
        example = json!({ "webhook-id": "evt_AZqYv3rVcBKUQ1mHn7tKRw" }))]
    headers: JsonText,
    /// Byte for byte.
    body: String,
    /// `valid`, `invalid` or `missing`.
    #[schema(value_type = String, example = "valid")]
    signature: SignatureVerdict,
    /// Why it is invalid.
    signature_error: Option<String>,
    /// HTTP status of the answer.
    status: Option<i32>,
    /// `hang` or `reset`.
    #[schema(value_type = Option<String>)]
    fault: Option<InboxFault>,
    /// Time of arrival.
    created_at: Timestamp,
}
