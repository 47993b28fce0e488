//! Finds recipients.

use entity::counter::Counted;
use entity::recipient::{self, Column};
use entity::{Listed, Owned, RecipientToken};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, QueryFilter, QuerySelect};
use store::Tx;

use crate::error::{Error, ErrorCode};
use crate::params::Paging;
use crate::services::by_key;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::recipients::view::Recipient;
use crate::services::search_text;

/// Returns one recipient.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Recipient, Error> {
    Ok(by_token(ctx.store.read(), account, token).await?.into())
}

/// Lists the account's recipients, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<Recipient>, Error> {
    let recipients = List::newest_first(account.id(), recipient::Entity::owned_by(account.id()));
    Ok(recipients.counted(ctx, Counted::Recipients, paging).await?.map(Recipient::from))
}

/// Searches the account's recipients by a part of their name or e-mail address, newest first, for the dashboard
/// (`docs/decisions.md`, 455).
pub async fn search(
    ctx: &Context,
    account: &Account,
    query: &str,
    paging: Paging,
) -> Result<ListPage<Recipient>, Error> {
    let words = search_text::contains(ctx.store.backend(), Column::SearchText.into_expr(), query);
    let token = query.parse::<RecipientToken>().ok().map(|token| Column::Id.eq(token));
    let recipients =
        recipient::Entity::owned_by(account.id()).filter(Condition::any().add(words).add_option(token));
    Ok(List::newest_first(account.id(), recipients).ranged(ctx, paging).await?.map(Recipient::from))
}

/// Finds the row of a token.
///
/// Refusals: `not_found`.
pub async fn by_token(
    db: &impl ConnectionTrait,
    account: &Account,
    token: &str,
) -> Result<recipient::Model, Error> {
    by_key::find::<recipient::Entity>(db, account, token).await
}

/// Locks a recipient until the commit and returns its current row.
///
/// Refusals: `not_found`.
pub async fn lock_recipient(
    tx: &Tx,
    account: &Account,
    id: RecipientToken,
) -> Result<recipient::Model, Error> {
    let row = recipient::Entity::at(account.id(), id);
    let row = row.lock(LockType::NoKeyUpdate).one(tx).await?;
    row.ok_or_else(|| ErrorCode::NotFound.into())
}
