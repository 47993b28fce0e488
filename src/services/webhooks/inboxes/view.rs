//! Inbox, and what arrived there (`docs/decisions.md`, 375).

use entity::inbox::{self, InboxFault, SignatureVerdict};
use entity::{InboxToken, JsonText, Timestamp, inbox_delivery};
use macros::view;

/// A receiver of webhooks inside the server, for tests.
#[view]
pub struct Inbox {
    /// The inbox's token, `inb_...`.
    token: InboxToken,
    /// The URL for a webhook endpoint.
    #[schema(example = "http://127.0.0.1:8080/inboxes/inb_AZqYv3rVcBKUQ1mHn7tKRw")]
    url: String,
    /// The HTTP status of the inbox's answers.
    #[schema(example = 200)]
    status: i32,
    /// The delay of the answers, in milliseconds.
    latency_ms: i64,
    /// Why deliveries get no answer; null if they get one.
    fault: Option<InboxFault>,
    /// How often this answer is given: 3 means to each third delivery, while the others get 200.
    #[schema(example = 1)]
    every: i64,
    /// The number of deliveries so far.
    #[schema(example = 2)]
    received: i64,
    /// The time of the inbox's creation.
    created_at: Timestamp,
}

impl Inbox {
    pub fn new(row: &inbox::Model, url: String) -> Self {
        let &inbox::Model { account_id: _, id, status, latency_ms, fault, every, received, created_at } = row;
        Self { token: id, url, status, latency_ms, fault, every, received, created_at }
    }
}

/// A webhook that arrived at an inbox, and the answer it got.
#[view(of(inbox_delivery::Model))]
pub struct InboxDelivery {
    /// The number of the delivery in its inbox, from 1.
    #[schema(example = 1)]
    number: i64,
    /// The headers of the request, by their names in lower case.
    #[schema(value_type = std::collections::BTreeMap<String, String>,
        example = json!({ "webhook-id": "evt_AZqYv3rVcBKUQ1mHn7tKRw" }))]
    headers: JsonText,
    /// The body of the request, byte for byte.
    body: String,
    /// Whether a key of the endpoint has signed the request.
    signature: SignatureVerdict,
    /// A sentence that says why the signature is invalid; null unless it is.
    signature_error: Option<String>,
    /// The HTTP status of the answer; null if there was none.
    status: Option<i32>,
    /// Why the request got no answer; null if it got one.
    fault: Option<InboxFault>,
    /// The time at which the request arrived.
    created_at: Timestamp,
}
