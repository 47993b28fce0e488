//! Counts a plan's subscriptions by state, in the transaction that changes the state.

use entity::plan::{self, Column};
use entity::subscription::SubscriptionState;
use entity::{AccountToken, Listed, PlanToken};
use sea_orm::sea_query::{Expr, ExprTrait, LockType};
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use store::Tx;

use crate::error::Error;

/// Moves a subscription from one state to another; `from` is none for a new one, `to` for a deleted one. Returns
/// whether the plan exists.
pub async fn count_move(
    tx: &Tx,
    account: AccountToken,
    plan: PlanToken,
    from: Option<SubscriptionState>,
    to: Option<SubscriptionState>,
) -> Result<bool, Error> {
    if from == to {
        return Ok(true);
    }
    let less = from.map(|state| (column(state), -1));
    let more = to.map(|state| (column(state), 1));
    shift(tx, account, plan, less.into_iter().chain(more)).await
}

/// Counts the start of a charge that may activate a subscription again: until [`count_charge_end`], the plan is not deleted.
/// Returns whether the plan exists.
pub async fn count_charge_start(tx: &Tx, account: AccountToken, plan: PlanToken) -> Result<bool, Error> {
    shift(tx, account, plan, [(Column::Starting, 1)]).await
}

pub async fn count_charge_end(tx: &Tx, account: AccountToken, plan: PlanToken) -> Result<(), Error> {
    shift(tx, account, plan, [(Column::Starting, -1)]).await.map(drop)
}

/// Locks a plan against deletion until the commit. Returns whether the plan exists.
pub async fn lock_plan(tx: &Tx, account: AccountToken, plan: PlanToken) -> Result<bool, Error> {
    let row = plan::Entity::at(account, plan).filter(Column::DeletedAt.is_null());
    Ok(row.lock(LockType::NoKeyUpdate).one(tx).await?.is_some())
}

const fn column(state: SubscriptionState) -> Column {
    match state {
        SubscriptionState::Starting => Column::Starting,
        SubscriptionState::Trial => Column::Trial,
        SubscriptionState::Active => Column::Active,
        SubscriptionState::Cancelling => Column::Cancelling,
        SubscriptionState::Cancelled => Column::Cancelled,
    }
}

async fn shift(
    tx: &Tx,
    account: AccountToken,
    plan: PlanToken,
    by: impl IntoIterator<Item = (Column, i64)>,
) -> Result<bool, Error> {
    let this = plan::Entity::update_at(account, plan).filter(Column::DeletedAt.is_null());
    let shifted =
        by.into_iter().fold(this, |update, (column, n)| update.col_expr(column, Expr::col(column).add(n)));
    Ok(shifted.exec(tx).await?.rows_affected > 0)
}
