//! Finding customers and what belongs to them.

use std::collections::HashMap;

use entity::counter::Counted;
use entity::customer::{self, Column};
use entity::{CardToken, CustomerToken, Owned, card};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};

use crate::error::{Error, ErrorCode};
use crate::params::{Paging, Params};
use crate::services::context::{Account, Context};
use crate::services::page::{List, Page};
use crate::views::card::Card;
use crate::views::customer::Customer;
use crate::views::subscription::Subscription;

/// One customer.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Customer, Error> {
    let row = by_token(ctx.store.read(), account, token).await?;
    view(ctx.store.read(), row).await
}

/// The account's customers, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<Page<Customer>, Error> {
    let customers = List::newest_first(account.id(), customer::Entity::owned_by(account.id()));
    let page = customers.counted(ctx, Counted::Customers, paging).await?;
    let primary_ids = page.records.iter().map(|row| row.primary_card_id);
    let cards = card::Entity::owned_by(account.id())
        .filter(card::Column::Id.is_in(primary_ids))
        .all(ctx.store.read())
        .await?;
    let mut cards: HashMap<CardToken, card::Model> = cards.into_iter().map(|card| (card.id, card)).collect();
    // One that was deleted between the two looks is not on the page any more.
    let Page { records, count, paging } = page;
    let records = records
        .into_iter()
        .filter_map(|row| cards.remove(&row.primary_card_id).map(|card| Customer::new(row, card)));
    Ok(Page { records: records.collect(), count, paging })
}

/// The customer's cards, newest first.
///
/// Refusals: `not_found`.
pub async fn list_cards(
    ctx: &Context,
    account: &Account,
    token: &str,
    paging: Params<Paging>,
) -> Result<Page<Card>, Error> {
    let customer = by_token(ctx.store.read(), account, token).await?;
    let rows = card::Entity::owned_by(account.id()).filter(card::Column::CustomerId.eq(customer.id));
    let page = List::newest_first(account.id(), rows).ranged(ctx, paging.valid()?).await?;
    Ok(page.map(|row| Card::new(row, Some(customer.primary_card_id))))
}

/// The customer's subscriptions: none, as long as nothing is billed.
///
/// Refusals: `not_found`.
pub async fn list_subscriptions(
    ctx: &Context,
    account: &Account,
    token: &str,
    paging: Params<Paging>,
) -> Result<Page<Subscription>, Error> {
    by_token(ctx.store.read(), account, token).await?;
    Ok(Page { records: Vec::new(), count: 0, paging: paging.valid()? })
}

/// The row a token names.
pub(in crate::services) async fn by_token(
    db: &impl ConnectionTrait,
    account: &Account,
    token: &str,
) -> Result<customer::Model, Error> {
    let id: CustomerToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let row = customer::Entity::owned_by(account.id()).filter(Column::Id.eq(id)).one(db).await?;
    row.ok_or_else(|| ErrorCode::NotFound.into())
}

/// A customer with its primary card.
pub(super) async fn view(db: &impl ConnectionTrait, row: customer::Model) -> Result<Customer, Error> {
    let primary = card::Entity::owned_by(row.account_id)
        .filter(card::Column::Id.eq(row.primary_card_id))
        .one(db)
        .await?;
    // Both go in one transaction; between the two looks a deletion may have happened.
    Ok(Customer::new(row, primary.ok_or(ErrorCode::NotFound)?))
}
