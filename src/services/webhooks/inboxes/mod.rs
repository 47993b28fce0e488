//! Inboxes of the sandbox: receivers of webhooks inside the server, whose answers a test orders (`docs/decisions.md`, 375).

pub mod deliveries;
pub mod params;
pub mod receive;
pub mod view;

use entity::{AccountToken, InboxToken, Listed, Owned, account, inbox, inbox_delivery};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, PaginatorTrait, QueryFilter, QuerySelect};
use store::Tx;

use crate::config::Environment;
use crate::error::{Error, ErrorCode};
use crate::limits::INBOXES_MAX;
use crate::params::{Paging, Params, Patch};
use crate::services::by_key;
use crate::services::context::{Account, Caller, Context};
use crate::services::idempotency;
use crate::services::page::{List, ListPage};
use crate::services::webhooks::inboxes::params::ChangedInbox;
use crate::services::webhooks::inboxes::view::Inbox;

/// The path of inboxes, below the server's address.
const PATH: &str = "/inboxes/";

/// Returns the inbox at a URL of an account's endpoint: one below the server's address, or one of the account below an earlier address,
/// before the server was started on another port or the account was imported.
pub async fn by_url(ctx: &Context, account: AccountToken, url: &str) -> Result<Option<InboxToken>, Error> {
    let Some((address, token)) = url.rsplit_once(PATH) else { return Ok(None) };
    let Some(token) = token.parse().ok().filter(|_| ctx.environment == Environment::Test) else {
        return Ok(None);
    };
    if address == &*ctx.settings.base_url {
        return Ok(Some(token));
    }
    if address.contains(['?', '#']) {
        return Ok(None);
    }
    Ok(inbox::Entity::at(account, token).one(ctx.store.read()).await?.map(|inbox| inbox.id))
}

fn url(ctx: &Context, id: InboxToken) -> String {
    format!("{}{PATH}{id}", ctx.settings.base_url)
}

/// Returns the error message for an account at its limit of inboxes.
pub fn full() -> String {
    format!("An account may have {INBOXES_MAX} inboxes. Delete one before you make another.")
}

/// Makes an inbox, which answers 200 at once unless the parameters say otherwise.
///
/// Refusals, first match wins: `invalid_resource`, `limit_reached`.
pub async fn create(ctx: &Context, caller: &Caller, params: Params<ChangedInbox>) -> Result<Inbox, Error> {
    let now = caller.account.now;
    let row = inbox::Model {
        account_id: caller.account.id(),
        id: ctx.ids.token(),
        status: 200,
        latency_ms: 0,
        fault: None,
        every: 1,
        received: 0,
        created_at: now,
    };
    let row = answering(&row, &params.valid()?);
    let url = url(ctx, row.id);
    let unit = idempotency::write(ctx, caller, (row, url), async |tx, (row, url)| {
        // The lock serialises the count: two concurrent units would both find capacity.
        tx.lock::<account::Entity>(row.account_id).await?;
        if inbox::Entity::owned_by(row.account_id).count(tx).await? >= INBOXES_MAX {
            return Err(Error::explained(ErrorCode::LimitReached, full()));
        }
        // Insert immediately: another unit of the same batch may count.
        tx.insert(row).await?;
        Ok(Inbox::new(row, url.clone()))
    });
    unit.await
}

/// Returns the row with another answer; absent parameters stay.
fn answering(row: &inbox::Model, answer: &ChangedInbox) -> inbox::Model {
    inbox::Model {
        status: answer.status.and_then(|status| i32::try_from(status).ok()).unwrap_or(row.status),
        latency_ms: answer.latency_ms.unwrap_or(row.latency_ms),
        fault: match answer.fault {
            Some(Patch::Value(fault)) => Some(fault),
            Some(Patch::Blank) => None,
            Some(Patch::Absent) | None => row.fault,
        },
        every: answer.every.unwrap_or(row.every),
        ..row.clone()
    }
}

/// Lists the account's inboxes, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<Inbox>, Error> {
    let rows = List::newest_first(account.id(), inbox::Entity::owned_by(account.id()));
    Ok(rows.ranged(ctx, paging).await?.map(|row| {
        let url = url(ctx, row.id);
        Inbox::new(&row, url)
    }))
}

/// Finds the token of an inbox that exists.
///
/// Refusals: `not_found`.
async fn find(ctx: &Context, account: &Account, token: &str) -> Result<InboxToken, Error> {
    Ok(by_key::find::<inbox::Entity>(ctx.store.read(), account, token).await?.id)
}

/// Locks an inbox, so that its deliveries and changes happen one after another.
async fn lock(tx: &Tx, account: AccountToken, id: InboxToken) -> Result<Option<inbox::Model>, Error> {
    Ok(inbox::Entity::at(account, id).lock(LockType::NoKeyUpdate).one(tx).await?)
}

fn parse(token: &str) -> Result<InboxToken, Error> {
    token.parse().map_err(|_| ErrorCode::NotFound.into())
}

/// Changes the answer of an inbox from its next delivery on; absent parameters stay.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn change(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    params: Params<ChangedInbox>,
) -> Result<Inbox, Error> {
    let id = find(ctx, &caller.account, token).await?;
    let change = (caller.account.id(), id, params.valid()?, url(ctx, id));
    let unit = idempotency::write(ctx, caller, change, async |tx, (account, id, answer, url)| {
        let row = lock(tx, *account, *id).await?.ok_or(ErrorCode::NotFound)?;
        let changed = answering(&row, answer);
        tx.update(&row, &changed).await?;
        Ok(Inbox::new(&changed, url.clone()))
    });
    unit.await
}

/// Deletes an inbox with its deliveries.
///
/// Refusals: `not_found`.
pub async fn delete(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    let data = (caller.account.id(), parse(token)?);
    let unit = idempotency::write(ctx, caller, data, async |tx, (account, id)| {
        // The inbox first: a delivery in progress has locked it, and is deleted as well.
        let inbox = inbox::Entity::delete_at(*account, *id);
        if inbox.exec(tx).await?.rows_affected == 0 {
            return Err(ErrorCode::NotFound.into());
        }
        let deliveries = inbox_delivery::Entity::delete_of(*account);
        deliveries.filter(inbox_delivery::Column::InboxId.eq(*id)).exec(tx).await?;
        Ok(())
    });
    unit.await
}
