//! Finds webhooks.

use std::collections::HashMap;

use entity::counter::Counted;
use entity::event::{self, EventType};
use entity::webhook::{self, Column};
use entity::{AccountToken, EventToken, Listed, Owned, WebhookEndpointToken, WebhookToken, webhook_endpoint};
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect, QueryTrait};
use uuid::Uuid;

use crate::error::{Error, ErrorCode};
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::readable_events::ReadableEvents;
use crate::services::webhooks::params::WebhookSearch;
use crate::services::webhooks::view::Webhook;

/// Returns one webhook.
///
/// Refusals: `resource_not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Webhook, Error> {
    let id = token.parse().map_err(|_| ErrorCode::RecordNotFound)?;
    let (row, url) = by_token(ctx.store.read(), account.id(), id).await?;
    Ok(Webhook::new(row, url))
}

/// Lists the account's webhooks, newest first: all of them, or those of a type of event.
pub async fn list(
    ctx: &Context,
    account: &Account,
    search: WebhookSearch,
) -> Result<ListPage<Webhook>, Error> {
    let webhooks = List::newest_first(account.id(), webhook::Entity::owned_by(account.id()));
    let page = match search.r#type {
        None => webhooks.counted(ctx, Counted::Webhooks, search.paging).await?,
        Some(wanted) => {
            // A key that may not read the events learns nothing of their types.
            let readable = ReadableEvents::by(account);
            if readable.as_ref().is_some_and(|some| !some.types().any(|what| what == wanted)) {
                return Ok(ListPage { records: Vec::new(), count: 0, paging: search.paging });
            }
            let part = webhooks.part_of(Counted::Webhooks, of_type(account.id(), wanted, readable.as_ref()));
            part.ranged(ctx, search.paging).await?
        }
    };
    let ListPage { records, count, paging } = page;
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

/// Returns the webhooks of an event, at most one for each endpoint. Their tokens were made right after the event's, so that the primary
/// key finds them.
///
/// Refusals: `resource_not_found`.
pub async fn of_event(ctx: &Context, account: &Account, token: &str) -> Result<Vec<Webhook>, Error> {
    // UUIDv7 begins with 48 bits of milliseconds.
    const SECOND: u128 = 1000 << 80;
    let event: EventToken = token.parse().map_err(|_| ErrorCode::RecordNotFound)?;
    let soon = Uuid::from_u128(event.id().as_u128().saturating_add(SECOND));
    let rows = webhook::Entity::owned_by(account.id())
        .filter(Column::Id.gt(event.id()))
        .filter(Column::Id.lt(soon))
        .filter(Column::EventId.eq(event))
        .inner_join(webhook_endpoint::Entity)
        .select_also(webhook_endpoint::Entity);
    let rows = rows.all(ctx.store.read()).await?;
    Ok(rows.into_iter().filter_map(|(row, endpoint)| Some(Webhook::new(row, endpoint?.url))).collect())
}

/// Returns the condition that a webhook's event has a type and is readable. Each event is looked up by its key while the webhooks
/// are walked from the newest, whatever a database knows of its tables.
fn of_type(account: AccountToken, wanted: EventType, readable: Option<&ReadableEvents>) -> SimpleExpr {
    let its_own = Expr::col((event::Entity, event::Column::Id)).equals((webhook::Entity, Column::EventId));
    let event = event::Entity::owned_by(account).filter(its_own).select_only().column(event::Column::Type);
    let event = readable.into_iter().fold(event, |event, readable| event.filter(readable.condition()));
    SimpleExpr::SubQuery(None, Box::new(event.into_query().into())).eq(wanted.code())
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
