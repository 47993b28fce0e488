//! A ping is an event for one endpoint only. It shows the endpoint's owner whether webhooks arrive and their signatures
//! verify (`docs/decisions.md`, 261).

use base::trace;
use entity::audit_entry::Action;
use entity::counter::Counted;
use entity::event::EventType;
use entity::webhook::{self, WebhookState};
use entity::webhook_endpoint;
use entity::{AccountToken, JsonText, Listed, Timestamp, WebhookEndpointToken};
use sea_orm::QuerySelect;
use sea_orm::sea_query::LockType;
use serde_json::json;
use store::Tx;

use super::note;
use crate::error::{Error, ErrorCode};
use crate::services::audit::{self, OperatorAction};
use crate::services::context::{Caller, Context};
use crate::services::counts;
use crate::services::idempotency;
use crate::services::webhook_endpoints::view::PingedEndpoint;
use crate::services::webhooks::view::Webhook;

/// Sends an endpoint an event of the type `ping`, which is delivered and retried as any other.
///
/// Refusals: `resource_not_found`.
pub async fn ping(ctx: &Context, caller: &Caller, token: &str) -> Result<Webhook, Error> {
    let endpoint: WebhookEndpointToken = token.parse().map_err(|_| ErrorCode::RecordNotFound)?;
    let trace = trace::current().as_ref().map(ToString::to_string);
    let ping = Ping { account: caller.account.id(), endpoint, now: caller.account.now, trace };
    let sent = idempotency::write(ctx, caller, ping, async |tx, ping| ping.record(tx).await).await?;
    ctx.memory.due_webhooks.notify_one();
    Ok(sent)
}

struct Ping {
    account: AccountToken,
    endpoint: WebhookEndpointToken,
    now: Timestamp,
    trace: Option<String>,
}

impl Ping {
    async fn record(&self, tx: &Tx) -> Result<Webhook, Error> {
        // Lock the endpoint as events do: a concurrent deletion waits, and then deletes this webhook, too.
        let endpoint = webhook_endpoint::Entity::at(self.account, self.endpoint);
        let endpoint = endpoint.lock(LockType::KeyShare).one(tx).await?.ok_or(ErrorCode::RecordNotFound)?;
        let url = endpoint.url.clone();
        let event_id = note(tx, self.account, self.now, EventType::Ping, &PingedEndpoint::from(endpoint))?;
        let row = webhook::Model {
            account_id: self.account,
            // Right after the event's, by which it is found.
            id: tx.token(),
            event_id,
            endpoint_id: self.endpoint,
            state: WebhookState::Pending,
            attempt: 0,
            leased_until: None,
            due_at: Some(self.now),
            retries: 0,
            errors: JsonText::empty_object(),
            accepted_at: None,
            created_at: self.now,
            trace: self.trace.clone(),
        };
        // Insert immediately: another unit of the same batch may delete the endpoint with its webhooks.
        tx.insert(&row).await?;
        counts::add(tx, self.account, Counted::Webhooks, 1);
        let detail = json!({ "webhook": row.id });
        audit::record(
            tx,
            &OperatorAction::about(Action::WebhookPinged, self.account, self.endpoint.to_string(), detail),
        )?;
        Ok(Webhook::new(row, url))
    }
}
