//! Finds subscriptions.

use entity::counter::Counted;
use entity::subscription::{self, Column};
use sea_orm::{ColumnTrait, ConnectionTrait};

use super::rows::visible;
use crate::error::{Error, ErrorCode};
use crate::params::{Paging, Params};
use crate::services::by_key;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::subscriptions::view::Subscription;
use crate::services::{customers, plans};

/// Returns one subscription.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Subscription, Error> {
    let row = by_token(ctx.store.read(), account, token).await?;
    Ok(row.ok_or(ErrorCode::NotFound)?.into())
}

/// Lists the account's subscriptions, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<Subscription>, Error> {
    let list = List::newest_first(account.id(), visible(account.id()));
    Ok(list.counted(ctx, Counted::Subscriptions, paging).await?.map(Subscription::from))
}

/// Lists a plan's subscriptions, newest first.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn of_plan(
    ctx: &Context,
    account: &Account,
    plan: &str,
    paging: Params<Paging>,
) -> Result<ListPage<Subscription>, Error> {
    let plan = plans::find::by_token(ctx.store.read(), account, plan).await?.ok_or(ErrorCode::NotFound)?;
    let list = List::newest_first(account.id(), visible(account.id()));
    let list = list.part_of(Counted::Subscriptions, Column::PlanId.eq(plan.id));
    Ok(list.ranged(ctx, paging.valid()?).await?.map(Subscription::from))
}

/// Lists a customer's subscriptions, newest first.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn of_customer(
    ctx: &Context,
    account: &Account,
    customer: &str,
    paging: Params<Paging>,
) -> Result<ListPage<Subscription>, Error> {
    let customer = customers::find::by_token(ctx.store.read(), account, customer).await?;
    let list = List::newest_first(account.id(), visible(account.id()));
    let list = list.part_of(Counted::Subscriptions, Column::CustomerId.eq(customer.id));
    Ok(list.ranged(ctx, paging.valid()?).await?.map(Subscription::from))
}

pub(in crate::services) async fn by_token(
    db: &impl ConnectionTrait,
    account: &Account,
    token: &str,
) -> Result<Option<subscription::Model>, Error> {
    by_key::find_among(db, visible(account.id()), token).await
}
