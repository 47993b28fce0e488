//! Webhook endpoints (specification, Webhook endpoints; `docs/decisions.md`, 250 and 251).

pub mod keys;
pub mod params;
pub mod view;

use entity::counter::Counted;
use entity::webhook_endpoint::{self, Column};
use entity::{AccountToken, Listed, Owned, WebhookEndpointToken, webhook};
use futures::future::try_join_all;
use outbound::signature::generate_key;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect, QueryTrait};
use store::Tx;
use url::Url;

use super::context::{Account, Caller, Context};
use super::idempotency;
use super::page::{List, ListPage};
use crate::error::{Error, ErrorCode};
use crate::limits::{PURGE_BATCH, WEBHOOK_ENDPOINTS_MAX};
use crate::params::{Paging, Params};
use crate::services::by_key;
use crate::services::counts;
use crate::services::webhook_endpoints::params::NewWebhookEndpoint;
use crate::services::webhook_endpoints::view::WebhookEndpoint;

/// Registers an endpoint. It receives every event from then on.
///
/// Refusals, first match wins: `invalid_resource`, `limit_reached`.
pub async fn register(
    ctx: &Context,
    caller: &Caller,
    params: Params<NewWebhookEndpoint>,
) -> Result<WebhookEndpoint, Error> {
    let account = &caller.account;
    let Params { value, mut faults } = params;
    if let Some(wrong) = wrong_with(ctx, &value.url).filter(|_| faults.is_empty()) {
        faults.add("url", wrong);
    }
    let value = Params { value, faults }.valid()?;
    let (key, id) = (generate_key(&ctx.random), ctx.ids.token());
    let sealed = ctx.vault.seal(&keys::own_context(account.id(), id), key.expose().as_bytes());
    let row = webhook_endpoint::Model {
        account_id: account.id(),
        id,
        slot: 0,
        url: value.url.0,
        key_sealed: sealed.bytes,
        sealed_by: sealed.key,
        former_key_sealed: None,
        former_key_until: None,
        created_at: account.now,
        updated_at: account.now,
    };
    let unit = idempotency::write(ctx, caller, (row, key), async |tx, (row, key)| {
        Ok(WebhookEndpoint::new(record(tx, row).await?, key))
    });
    unit.await
}

/// Checks a URL. Forbidden literal addresses are refused without a name look-up; a name is checked at each delivery.
fn wrong_with(ctx: &Context, text: &str) -> Option<&'static str> {
    let Ok(url) = Url::parse(text) else { return Some("is not a valid URL") };
    // The parser drops empty credentials.
    let authority = text.split_once("://").and_then(|(_, rest)| rest.split(['/', '\\', '?', '#']).next());
    if authority.is_some_and(|authority| authority.contains('@')) || url.fragment().is_some() {
        return Some("is not a valid URL");
    }
    (!ctx.outbound.policy().permits_literal(&url)).then_some("is not an address that may be called")
}

/// Takes the first free slot. If two units read at once, one gets the slot and the other retries.
async fn record(tx: &Tx, row: &webhook_endpoint::Model) -> Result<webhook_endpoint::Model, Error> {
    let taken: Vec<i32> = webhook_endpoint::Entity::owned_by(row.account_id)
        .select_only()
        .column(Column::Slot)
        .into_tuple()
        .all(tx)
        .await?;
    let slot = (0..).take(WEBHOOK_ENDPOINTS_MAX).find(|slot| !taken.contains(slot));
    let row = webhook_endpoint::Model { slot: slot.ok_or(ErrorCode::LimitReached)?, ..row.clone() };
    // Insert immediately: another unit of the same batch may read the slots, too.
    tx.insert(&row).await?;
    Ok(row)
}

/// Lists the account's endpoints, newest first.
pub async fn list(
    ctx: &Context,
    account: &Account,
    paging: Paging,
) -> Result<ListPage<WebhookEndpoint>, Error> {
    let rows = webhook_endpoint::Entity::owned_by(account.id());
    let ListPage { records, count, paging } =
        List::newest_first(account.id(), rows).ranged(ctx, paging).await?;
    let records = try_join_all(records.into_iter().map(|row| shown(ctx, row))).await?;
    Ok(ListPage { records, count, paging })
}

/// Returns one endpoint.
///
/// Refusals: `resource_not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<WebhookEndpoint, Error> {
    shown(ctx, by_token(ctx, account, token).await?).await
}

/// Finds the row of a token.
///
/// Refusals: `resource_not_found`.
pub async fn by_token(
    ctx: &Context,
    account: &Account,
    token: &str,
) -> Result<webhook_endpoint::Model, Error> {
    let endpoints = webhook_endpoint::Entity::owned_by(account.id());
    let row = by_key::find_among(ctx.store.read(), endpoints, token).await?;
    row.ok_or_else(|| ErrorCode::RecordNotFound.into())
}

/// Deletes an endpoint and all its webhooks permanently.
///
/// Refusals: `resource_not_found`.
pub async fn delete(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    let id: WebhookEndpointToken = token.parse().map_err(|_| ErrorCode::RecordNotFound)?;
    let data = (caller.account.id(), id);
    // In batches, so that no wait is long: every event of the account waits while its endpoint is deleted.
    while ctx.store.write(data, async |tx, (account, id)| delete_webhooks(tx, *account, *id).await).await?
        == PURGE_BATCH
    {}
    idempotency::write(ctx, caller, data, async |tx, (account, id)| remove(tx, *account, *id).await).await
}

/// Deletes a batch of an endpoint's webhooks and returns their number.
async fn delete_webhooks(tx: &Tx, account: AccountToken, id: WebhookEndpointToken) -> Result<u64, Error> {
    // Of two that delete the same batch, one would find none gone, and take it for the last.
    tx.lock::<webhook_endpoint::Entity>((account, id)).await?;
    let portion = webhook::Entity::owned_by(account)
        .filter(webhook::Column::EndpointId.eq(id))
        .limit(PURGE_BATCH)
        .select_only()
        .column(webhook::Column::Id)
        .into_query();
    let webhooks = webhook::Entity::delete_of(account).filter(webhook::Column::Id.in_subquery(portion));
    let gone = webhooks.exec(tx).await?.rows_affected;
    counts::subtract(tx, account, Counted::Webhooks, gone);
    Ok(gone)
}

/// Deletes the endpoint first: uncommitted events have locked it, and once they commit their webhooks are deleted as
/// well.
async fn remove(tx: &Tx, account: AccountToken, id: WebhookEndpointToken) -> Result<(), Error> {
    let endpoint = webhook_endpoint::Entity::delete_at(account, id);
    if endpoint.exec(tx).await?.rows_affected == 0 {
        return Err(ErrorCode::RecordNotFound.into());
    }
    let webhooks = webhook::Entity::delete_of(account).filter(webhook::Column::EndpointId.eq(id));
    let gone = webhooks.exec(tx).await?.rows_affected;
    counts::subtract(tx, account, Counted::Webhooks, gone);
    Ok(())
}

async fn shown(ctx: &Context, row: webhook_endpoint::Model) -> Result<WebhookEndpoint, Error> {
    let key = keys::own(ctx, &row).await?;
    Ok(WebhookEndpoint::new(row, &key))
}
