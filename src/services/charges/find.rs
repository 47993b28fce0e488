//! Finding charges.

use entity::charge::{self, Column};
use entity::counter::Counted;
use entity::{ChargeToken, Owned};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};

use crate::error::{Error, ErrorCode};
use crate::params::{Paging, Params};
use crate::services::context::{Account, Context};
use crate::services::customers;
use crate::services::page::{List, Page};
use crate::views::charge::Charge;

/// One charge, failed and pending ones included.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Charge, Error> {
    let row = by_token(ctx.store.read(), account, token).await?;
    Ok(Charge::at(account.now, row))
}

/// The row a token names.
pub(in crate::services) async fn by_token(
    db: &impl ConnectionTrait,
    account: &Account,
    token: &str,
) -> Result<charge::Model, Error> {
    let id: ChargeToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let row = charge::Entity::owned_by(account.id()).filter(Column::Id.eq(id)).one(db).await?;
    let row = row.filter(|row| !row.is_authorisation());
    row.ok_or_else(|| ErrorCode::NotFound.into())
}

/// The account's charges, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<Page<Charge>, Error> {
    let rows = charge::Entity::owned_by(account.id()).filter(charge::listed());
    let page = List::newest_first(account.id(), rows).counted(ctx, Counted::Charges, paging).await?;
    Ok(page.map(|row| Charge::at(account.now, row)))
}

/// A customer's charges, newest first.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn of_customer(
    ctx: &Context,
    account: &Account,
    customer: &str,
    paging: Params<Paging>,
) -> Result<Page<Charge>, Error> {
    let customer = customers::find::by_token(ctx.store.read(), account, customer).await?;
    let rows = charge::Entity::owned_by(account.id())
        .filter(Column::CustomerId.eq(customer.id))
        .filter(charge::listed());
    let page = List::newest_first(account.id(), rows).ranged(ctx, paging.valid()?).await?;
    Ok(page.map(|row| Charge::at(account.now, row)))
}
