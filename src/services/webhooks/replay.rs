//! PUT /webhooks/{token}/replay.

use entity::webhook::{self, Column};
use entity::{AccountToken, JsonText, Timestamp, WebhookToken};
use store::Tx;

use super::find::by_token;
use super::state::{WebhookAction, next};
use crate::error::{Error, ErrorCode};
use crate::services::context::{Caller, Context};
use crate::services::idempotency;
use crate::services::webhooks::view::Webhook;

/// Sends a webhook again as if for the first time and erases its earlier errors. A delivery in flight continues, but
/// its outcome is not recorded.
///
/// Refusals, first match wins: `resource_not_found`, `cannot_replay_webhook`.
pub async fn replay(ctx: &Context, caller: &Caller, token: &str) -> Result<Webhook, Error> {
    let id: WebhookToken = token.parse().map_err(|_| ErrorCode::RecordNotFound)?;
    let data = (caller.account.id(), id, caller.account.now);
    let replayed = idempotency::write(ctx, caller, data, async |tx, &(account, id, now)| {
        record(tx, account, id, now).await
    });
    let replayed = replayed.await?;
    ctx.memory.due_webhooks.notify_one();
    Ok(replayed)
}

async fn record(tx: &Tx, account: AccountToken, id: WebhookToken, now: Timestamp) -> Result<Webhook, Error> {
    loop {
        let (seen, url) = by_token(tx, account, id).await?;
        // Only one of the refusals concerns a replay.
        let state = next(seen.state, WebhookAction::Replay).map_err(|_| ErrorCode::CannotReplayWebhook)?;
        let row = webhook::Model {
            state,
            attempt: seen.attempt + 1,
            leased_until: None,
            due_at: Some(now),
            retries: 0,
            errors: JsonText::empty_object(),
            accepted_at: None,
            ..seen.clone()
        };
        if tx.compare_and_swap(&seen, &row, &[Column::State, Column::Attempt]).await? {
            return Ok(Webhook::new(row, url));
        }
        // A worker or another replay was faster: read the row again.
    }
}
