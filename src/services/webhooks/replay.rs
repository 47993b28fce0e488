//! PUT /webhooks/{token}/replay.

use entity::webhook::{self, Column};
use entity::{AccountToken, JsonText, Timestamp, WebhookToken};
use futures::FutureExt;
use sea_orm::ActiveValue::Set;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use super::find::by_token;
use super::state::{Action, next};
use crate::error::{Error, ErrorCode};
use crate::services::context::{Caller, Context};
use crate::services::idempotency;
use crate::store::Tx;
use crate::views::webhook::Webhook;

/// Sends a webhook again as if for the first time and erases its earlier errors. A delivery in flight continues, but
/// its outcome is not recorded.
///
/// Refusals, first match wins: `resource_not_found`, `cannot_replay_webhook`.
pub async fn replay(ctx: &Context, caller: &Caller, token: &str) -> Result<Webhook, Error> {
    let id: WebhookToken = token.parse().map_err(|_| ErrorCode::RecordNotFound)?;
    let data = (caller.account.id(), id, caller.account.now);
    let replayed =
        idempotency::write(ctx, caller, data, |tx, &(account, id, now)| record(tx, account, id, now).boxed());
    let replayed = replayed.await?;
    ctx.due_webhooks.notify_one();
    Ok(replayed)
}

async fn record(tx: &Tx, account: AccountToken, id: WebhookToken, now: Timestamp) -> Result<Webhook, Error> {
    loop {
        let (seen, url) = by_token(tx, account, id).await?;
        // Only one of the refusals concerns a replay.
        let state = next(seen.state, Action::Replay).map_err(|_| ErrorCode::CannotReplayWebhook)?;
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
        let update = webhook::Entity::update_many()
            .set(webhook::ActiveModel {
                state: Set(row.state),
                attempt: Set(row.attempt),
                leased_until: Set(row.leased_until),
                due_at: Set(row.due_at),
                retries: Set(row.retries),
                errors: Set(row.errors.clone()),
                accepted_at: Set(row.accepted_at),
                ..Default::default()
            })
            .filter(Column::AccountId.eq(account))
            .filter(Column::Id.eq(id))
            .filter(Column::State.eq(seen.state))
            .filter(Column::Attempt.eq(seen.attempt));
        if update.exec(tx).await?.rows_affected > 0 {
            return Ok(Webhook::new(row, url));
        }
        // A worker or another replay was faster: read the row again.
    }
}
