//! Finds customers, their cards and the primary card.

use std::collections::HashMap;

use entity::counter::Counted;
use entity::customer;
use entity::{CardToken, CustomerToken, Listed, Owned, card};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};

use crate::error::{Error, ErrorCode};
use crate::params::{Paging, Params};
use crate::services::by_key;
use crate::services::cards::view::Card;
use crate::services::context::{Account, Context};
use crate::services::customers::view::Customer;
use crate::services::page::{List, ListPage};

/// Returns one customer.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Customer, Error> {
    let id = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let (row, card) = with_primary(ctx, account, id).await?.ok_or(ErrorCode::NotFound)?;
    Ok(Customer::new(row, card))
}

/// Lists the account's customers, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<Customer>, Error> {
    let customers = List::newest_first(account.id(), customer::Entity::owned_by(account.id()));
    shown(ctx, account, customers.counted(ctx, Counted::Customers, paging).await?).await
}

/// Returns a page of customers with their primary cards.
pub(super) async fn shown(
    ctx: &Context,
    account: &Account,
    page: ListPage<customer::Model>,
) -> Result<ListPage<Customer>, Error> {
    let primary_ids = page.records.iter().map(|row| row.primary_card_id.id());
    let cards = by_key::rows::<card::Entity>(ctx.store.backend(), account.id(), primary_ids);
    let cards = cards.all(ctx.store.read()).await?;
    let mut cards: HashMap<CardToken, card::Model> = cards.into_iter().map(|card| (card.id, card)).collect();
    let ListPage { records: rows, count, paging } = page;
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        // Its card may have been replaced between the two reads. A customer deleted since is left out.
        let seen = match cards.remove(&row.primary_card_id) {
            Some(card) => Some((row, card)),
            None => with_primary(ctx, account, row.id).await?,
        };
        records.extend(seen.map(|(row, card)| Customer::new(row, card)));
    }
    Ok(ListPage { records, count, paging })
}

/// Reads a customer and its primary card in one statement: between two reads another card may become primary and this
/// one be deleted.
pub async fn with_primary(
    ctx: &Context,
    account: &Account,
    id: CustomerToken,
) -> Result<Option<(customer::Model, card::Model)>, Error> {
    let rows = customer::Entity::at(account.id(), id).inner_join(card::Entity).select_also(card::Entity);
    let seen = rows.one(ctx.store.read()).await?;
    Ok(seen.and_then(|(row, card)| Some((row, card?))))
}

/// Lists the customer's cards, newest first.
///
/// Refusals: `not_found`.
pub async fn list_cards(
    ctx: &Context,
    account: &Account,
    token: &str,
    paging: Params<Paging>,
) -> Result<ListPage<Card>, Error> {
    let mut customer = by_token(ctx.store.read(), account, token).await?;
    let paging = paging.valid()?;
    loop {
        let rows = card::Entity::owned_by(account.id()).filter(card::Column::CustomerId.eq(customer.id));
        let page = List::newest_first(account.id(), rows).ranged(ctx, paging).await?;
        let primary = customer.primary_card_id;
        customer = by_token(ctx.store.read(), account, token).await?;
        // If another card became primary meanwhile, the page may lack it.
        if customer.primary_card_id == primary {
            return Ok(page.map(|row| Card::new(row, Some(primary))));
        }
    }
}

pub(in crate::services) async fn by_token(
    db: &impl ConnectionTrait,
    account: &Account,
    token: &str,
) -> Result<customer::Model, Error> {
    by_key::find::<customer::Entity>(db, account, token).await
}

/// Reads the primary card of a customer whose lock the caller holds, and returns the customer's view.
pub(super) async fn view(db: &impl ConnectionTrait, row: customer::Model) -> Result<Customer, Error> {
    let primary = card::Entity::at(row.account_id, row.primary_card_id).one(db).await?;
    let primary = primary.ok_or_else(|| Error::internal("a customer without its primary card"))?;
    Ok(Customer::new(row, primary))
}
