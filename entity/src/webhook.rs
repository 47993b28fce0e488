//! Webhooks: the delivery of one event to one endpoint (specification, Webhook; `docs/decisions.md`, 252).

use crate::{AccountToken, EventToken, JsonText, Timestamp, WebhookEndpointToken, WebhookToken};

table! {
    /// One webhook. Its content is the event's row.
    "webhooks" [account_id: AccountToken, id: WebhookToken] {
        event_id: EventToken,
        endpoint_id: WebhookEndpointToken,
        state: WebhookState,
        /// Raised by each lease: only the holder of this number records the outcome of a delivery.
        attempt: i32,
        /// The end of the lease, by the wall clock; null if it is not leased.
        leased_until: Option<Timestamp>,
        /// The next delivery; null if none is planned.
        due_at: Option<Timestamp>,
        /// The number of retries planned since its creation or replay.
        retries: i32,
        /// The errors since then, by time: `{"<date> <time> UTC": {error, error_description}}`.
        errors: JsonText,
        accepted_at: Option<Timestamp>,
        created_at: Timestamp,
        /// The `traceparent` of the event's cause.
        trace: Option<String>,
    } relations {
        /// The endpoint to which it is delivered.
        #[sea_orm(belongs_to, from = "(account_id, endpoint_id)", to = "(account_id, id)")]
        endpoint: (BelongsTo<crate::webhook_endpoint::Entity>),
    }
}

string_enum! {
    /// The state of a webhook.
    pub closed enum WebhookState {
        /// The webhook waits for its first delivery, or for the first one after a replay.
        Pending "pending",
        /// The last delivery failed; another one is planned.
        Retrying "retrying",
        /// The endpoint accepted it.
        Completed "completed",
        /// Every delivery failed, and none is planned.
        Failed "failed",
    }
}
