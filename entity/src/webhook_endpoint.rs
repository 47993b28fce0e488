//! Webhook endpoints: the addresses that get an account's events (specification, Webhook endpoint).

use uuid::Uuid;

use crate::{AccountToken, Bytes, Timestamp, WebhookEndpointToken};

table! {
    /// One endpoint. Its key is kept encrypted, because the API shows it again.
    "webhook_endpoints" [account_id: AccountToken, id: WebhookEndpointToken] {
        /// One of the account's five slots, unique in the account (`docs/decisions.md`, 250).
        slot: i32,
        url: String,
        /// The key that signs its webhooks.
        key_sealed: Bytes,
        sealed_by: Uuid,
        /// The former key, which also signs for a while after a rotation.
        former_key_sealed: Option<Bytes>,
        former_key_until: Option<Timestamp>,
        created_at: Timestamp,
        updated_at: Timestamp,
    }
}
