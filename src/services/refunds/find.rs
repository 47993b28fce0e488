//! Finds refunds.

use entity::Owned;
use entity::counter::Counted;
use entity::refund::{self, Column};
use sea_orm::ColumnTrait;

use crate::error::Error;
use crate::params::{Paging, Params};
use crate::services::by_key;
use crate::services::charges;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::refunds::view::Refund;

/// Returns one refund.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Refund, Error> {
    Ok(by_token(ctx, account, token).await?.into())
}

/// Finds the row of a refund.
///
/// Refusals: `not_found`.
pub async fn by_token(ctx: &Context, account: &Account, token: &str) -> Result<refund::Model, Error> {
    by_key::find::<refund::Entity>(ctx.store.read(), account, token).await
}

/// Lists the account's refunds, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<Refund>, Error> {
    let refunds = List::newest_first(account.id(), refund::Entity::owned_by(account.id()));
    Ok(refunds.counted(ctx, Counted::Refunds, paging).await?.map(Refund::from))
}

/// Lists a charge's refunds, newest first.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn of_charge(
    ctx: &Context,
    account: &Account,
    charge: &str,
    paging: Params<Paging>,
) -> Result<ListPage<Refund>, Error> {
    let charge = charges::find::by_token(ctx.store.read(), account, charge).await?;
    let refunds = List::newest_first(account.id(), refund::Entity::owned_by(account.id()));
    let refunds = refunds.part_of(Counted::Refunds, Column::ChargeId.eq(charge.id));
    let page = refunds.ranged(ctx, paging.valid()?).await?;
    Ok(page.map(Refund::from))
}
