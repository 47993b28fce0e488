//! Events, each written in the transaction of the change it reports (`docs/decisions.md`, 241).

pub mod ping;

use entity::counter::Counted;
use entity::event::EventType;
use entity::{AccountToken, EventToken, JsonText, Listed, Owned, Timestamp, event};
use serde::Serialize;

use super::context::{Account, Context};
use super::counts;
use super::page::{List, ListPage};
use super::webhooks::outbox;
use crate::error::{Error, ErrorCode};
use crate::params::Paging;
use crate::store::Tx;
use crate::views;

/// Records an event of `record`, as the API shows it at this moment, and publishes it to the webhook endpoints.
pub fn record(
    tx: &Tx,
    account: AccountToken,
    now: Timestamp,
    what: EventType,
    record: &impl Serialize,
) -> Result<(), Error> {
    let id = note(tx, account, now, what, record)?;
    outbox::publish(tx, account, id, now);
    Ok(())
}

/// Records an event without publishing it.
pub fn note(
    tx: &Tx,
    account: AccountToken,
    now: Timestamp,
    what: EventType,
    record: &impl Serialize,
) -> Result<EventToken, Error> {
    let id = tx.token();
    tx.append(&event::Model {
        account_id: account,
        id,
        r#type: what,
        data: JsonText::of(record)?,
        created_at: now,
    });
    counts::add(tx, account, Counted::Events, 1);
    Ok(id)
}

/// Lists the account's events, newest first.
pub async fn list(
    ctx: &Context,
    account: &Account,
    paging: Paging,
) -> Result<ListPage<views::event::Event>, Error> {
    let events = List::newest_first(account.id(), event::Entity::owned_by(account.id()));
    Ok(events.counted(ctx, Counted::Events, paging).await?.map(views::event::Event::from))
}

/// Returns one event.
///
/// Refusals: `resource_not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<views::event::Event, Error> {
    let id: EventToken = token.parse().map_err(|_| ErrorCode::RecordNotFound)?;
    let row = event::Entity::at(account.id(), id).one(ctx.store.read()).await?;
    Ok(row.ok_or(ErrorCode::RecordNotFound)?.into())
}
