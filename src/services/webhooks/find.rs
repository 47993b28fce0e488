//! Finds webhooks.

use std::collections::HashMap;

use entity::counter::Counted;
use entity::{AccountToken, Listed, Owned, WebhookEndpointToken, WebhookToken, webhook, webhook_endpoint};
use sea_orm::ConnectionTrait;

use crate::error::{Error, ErrorCode};
use crate::params::Paging;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::webhooks::view::Webhook;

/// Returns one webhook.
///
/// Refusals: `resource_not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Webhook, Error> {
    let id = token.parse().map_err(|_| ErrorCode::RecordNotFound)?;
    let (row, url) = by_token(ctx.store.read(), account.id(), id).await?;
    Ok(Webhook::new(row, url))
}

/// Lists the account's webhooks, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<Webhook>, Error> {
    let webhooks = List::newest_first(account.id(), webhook::Entity::owned_by(account.id()));
    let ListPage { records, count, paging } = webhooks.counted(ctx, Counted::Webhooks, paging).await?;
    // There are at most five endpoints. An endpoint deleted between the two reads took its webhooks along.
    let endpoints = webhook_endpoint::Entity::owned_by(account.id()).all(ctx.store.read()).await?;
    let urls: HashMap<WebhookEndpointToken, String> =
        endpoints.into_iter().map(|endpoint| (endpoint.id, endpoint.url)).collect();
    let shown = records.into_iter().filter_map(|row| {
        let url = urls.get(&row.endpoint_id)?.clone();
        Some(Webhook::new(row, url))
    });
    Ok(ListPage { records: shown.collect(), count, paging })
}

/// Finds the row of a token and the URL of its endpoint.
pub(super) async fn by_token(
    db: &impl ConnectionTrait,
    account: AccountToken,
    id: WebhookToken,
) -> Result<(webhook::Model, String), Error> {
    let rows = webhook::Entity::at(account, id).inner_join(webhook_endpoint::Entity);
    let seen = rows.select_also(webhook_endpoint::Entity).one(db).await?;
    let seen = seen.and_then(|(row, endpoint)| Some((row, endpoint?.url)));
    seen.ok_or_else(|| ErrorCode::RecordNotFound.into())
}
