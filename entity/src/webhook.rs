//! Webhooks: one event on its way to one endpoint (specification, Webhook; decisions 11).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, EventToken, JsonText, Timestamp, WebhookEndpointToken, WebhookToken};

/// One webhook. What it delivers is its event, as that stands in its own row.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "webhooks")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The webhook's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: WebhookToken,
    /// What it tells.
    pub event_id: EventToken,
    /// Whom it tells.
    pub endpoint_id: WebhookEndpointToken,
    /// Where it stands.
    pub state: WebhookState,
    /// Raised by whoever takes it over: only the holder of this number records what came of a delivery.
    pub attempt: i32,
    /// Until when its holder may deliver it, by the wall clock; null when nobody holds it.
    pub leased_until: Option<Timestamp>,
    /// When it may be delivered, by the account's clock; null when nothing is to be delivered.
    pub due_at: Option<Timestamp>,
    /// How many retries were planned since it was made or replayed.
    pub retries: i32,
    /// What went wrong since then, by time: `{"<date> <time> UTC": {error, error_description}}`.
    pub errors: JsonText,
    /// When the endpoint accepted it, by the account's clock.
    pub accepted_at: Option<Timestamp>,
    /// By the account's clock.
    pub created_at: Timestamp,
    /// The trace of whatever made the event happen: its `traceparent`.
    pub trace: Option<String>,
}

string_enum! {
    /// Where a webhook stands.
    pub enum WebhookState {
        /// To be delivered for the first time, or anew after a replay.
        Pending "pending",
        /// The last delivery failed; another one is planned.
        Retrying "retrying",
        /// The endpoint accepted it.
        Completed "completed",
        /// Every delivery failed; none is planned.
        Failed "failed",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
