//! Cancels subscriptions: for the merchant, for the customer, or because the customer is deleted.

use entity::subscription::{self, Column, SubscriptionState};
use entity::{Timestamp, customer};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use store::Tx;

use super::course::end_billing;
use super::find::by_token;
use super::rows::{lock_subscription, plan_of, put, visible};
use super::state::{SubscriptionAction, next};
use crate::error::{Error, ErrorCode};
use crate::services::context::{Account, Caller, Context};
use crate::services::subscriptions::view::Subscription;
use crate::services::{customers, idempotency};

/// Cancels a subscription at once. A renewal that is in flight stands.
///
/// Refusals, first match wins: `not_found`, `invalid_state`.
pub async fn cancel(ctx: &Context, caller: &Caller, token: &str) -> Result<Subscription, Error> {
    let row = find(ctx, &caller.account, token).await?;
    close(ctx, caller, row, SubscriptionAction::Cancel).await
}

/// Cancels a subscription as [`cancel`] does. Another customer's is not found.
pub async fn cancel_of_customer(
    ctx: &Context,
    caller: &Caller,
    customer: &str,
    token: &str,
) -> Result<Subscription, Error> {
    let customer = customers::find::by_token(ctx.store.read(), &caller.account, customer).await?;
    let row = find(ctx, &caller.account, token).await?;
    if row.customer_id != customer.id {
        return Err(ErrorCode::NotFound.into());
    }
    close(ctx, caller, row, SubscriptionAction::Cancel).await
}

/// Cancels a subscription for its customer, at the end of the interval that is paid.
///
/// Refusals, first match wins: `not_found`, `invalid_state`; the plan may not allow it, which is the latter.
pub async fn unsubscribe(ctx: &Context, caller: &Caller, token: &str) -> Result<Subscription, Error> {
    let row = find(ctx, &caller.account, token).await?;
    close(ctx, caller, row, SubscriptionAction::Unsubscribe).await
}

async fn find(ctx: &Context, account: &Account, token: &str) -> Result<subscription::Model, Error> {
    by_token(ctx.store.read(), account, token).await?.ok_or_else(|| ErrorCode::NotFound.into())
}

async fn close(
    ctx: &Context,
    caller: &Caller,
    row: subscription::Model,
    action: SubscriptionAction,
) -> Result<Subscription, Error> {
    let data = (row, action, caller.account.now);
    idempotency::write(ctx, caller, data, async |tx, (row, action, now)| record(tx, row, *action, *now).await)
        .await
}

async fn record(
    tx: &Tx,
    seen: &subscription::Model,
    action: SubscriptionAction,
    now: Timestamp,
) -> Result<Subscription, Error> {
    let row = lock_subscription(tx, seen).await?.ok_or(ErrorCode::NotFound)?;
    let step = next(row.state, action)?;
    if action == SubscriptionAction::Unsubscribe && !plan_of(tx, &row).await?.customer_may_cancel {
        return Err(ErrorCode::InvalidState.into());
    }
    put(tx, &row, end_billing(&row, step, now), step.emits, now).await
}

/// Deletes a customer with all its cards, and cancels its subscriptions. Plans its erasure if the operator wants one.
///
/// Refusals: `not_found`.
pub async fn close_customer(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    let row = customers::find::by_token(ctx.store.read(), &caller.account, token).await?;
    let latest = caller.account.now_by(ctx.trusted.latest());
    let erase_at = ctx.settings.erase_after.map(|after| latest + after);
    let deletion = (row, caller.account.now, erase_at);
    idempotency::write(ctx, caller, deletion, async |tx, (row, now, erase_at)| {
        delete_customer(tx, row, *now, *erase_at).await
    })
    .await
}

/// Deletes a customer with all its cards, and cancels its subscriptions, as a part of its caller's unit.
///
/// Refusals: `not_found`.
pub(in crate::services) async fn delete_customer(
    tx: &Tx,
    row: &customer::Model,
    now: Timestamp,
    erase_at: Option<Timestamp>,
) -> Result<(), Error> {
    customers::delete::record(tx, row, now, erase_at).await?;
    let open = [SubscriptionState::Trial, SubscriptionState::Active, SubscriptionState::Cancelling];
    let rows = visible(row.account_id)
        .filter(Column::CustomerId.eq(row.id))
        .filter(Column::State.is_in(open))
        .order_by_asc(Column::Id)
        .lock(LockType::NoKeyUpdate);
    for row in rows.all(tx).await? {
        let step = next(row.state, SubscriptionAction::CloseCustomer)?;
        put(tx, &row, end_billing(&row, step, now), step.emits, now).await?;
    }
    Ok(())
}
