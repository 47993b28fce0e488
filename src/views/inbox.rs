//! Inbox, and what arrived there (`docs/decisions.md`, 375).

use entity::inbox::{self, InboxFault, SignatureVerdict};
use entity::{InboxDeliveryToken, InboxToken, JsonText, Timestamp, inbox_delivery};
use macros::view;

/// A receiver of webhooks inside the server.
#[view]
pub struct Inbox {
    /// `inb_...`
    pub token: InboxToken,
    /// The URL for a webhook endpoint.
    #[schema(example = "http://127.0.0.1:8080/inboxes/inb_AZqYv3rVcBKUQ1mHn7tKRw")]
    pub url: String,
    /// The HTTP status of its answer.
    #[schema(example = 200)]
    status: i32,
    /// The delay of its answer, in milliseconds.
    latency_ms: i64,
    /// `hang` or `reset` in place of an answer.
    #[schema(value_type = Option<String>)]
    fault: Option<InboxFault>,
    /// Each delivery whose number this divides gets the answer; the others get 200.
    #[schema(example = 1)]
    every: i64,
    /// The number of deliveries so far.
    #[schema(example = 2)]
    received: i64,
    /// The time of its creation.
    created_at: Timestamp,
}

impl Inbox {
    /// Returns the record of a row.
    pub fn new(row: inbox::Model, url: String) -> Self {
        let inbox::Model { account_id: _, id, status, latency_ms, fault, every, received, created_at } = row;
        Self { token: id, url, status, latency_ms, fault, every, received, created_at }
    }
}

/// What arrived at an inbox, and its answer.
#[view(of(inbox_delivery::Model))]
pub struct InboxDelivery {
    /// `inbd_...`
    token: InboxDeliveryToken,
    /// Counted from 1 in its inbox.
    #[schema(example = 1)]
    number: i64,
    /// The headers, by their names in lower case.
    #[schema(value_type = std::collections::BTreeMap<String, String>,
        example = json!({ "webhook-id": "evt_AZqYv3rVcBKUQ1mHn7tKRw", "webhook-timestamp": "1772445600" }))]
    headers: JsonText,
    /// The body, byte for byte.
    #[schema(example = "{\"token\":\"evt_AZqYv3rVcBKUQ1mHn7tKRw\"}")]
    body: String,
    /// `valid`, `invalid`, or `missing` if it has none.
    #[schema(value_type = String, example = "valid")]
    signature: SignatureVerdict,
    /// Why the signature is invalid.
    signature_error: Option<String>,
    /// The HTTP status of the answer.
    #[schema(example = 200)]
    status: Option<i32>,
    /// `hang` or `reset` if there was no answer.
    #[schema(value_type = Option<String>)]
    fault: Option<InboxFault>,
    /// The time of its arrival.
    created_at: Timestamp,
}
