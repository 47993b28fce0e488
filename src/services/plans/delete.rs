//! DELETE /plans/{token}. One commit hides the plan and its subscriptions; a worker deletes them in batches, so that a
//! plan with many subscriptions delays no other request (`docs/decisions.md`, 181).

use entity::counter::Counted;
use entity::event::EventType;
use entity::plan::{self, COLUMN, Column};
use entity::{Listed, Owned, SubscriptionToken, Timestamp, subscription, subscription_entry};
use sea_orm::sea_query::{Expr, ExprTrait, LockType};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect, QueryTrait, Select};
use store::Tx;

use super::find::by_token;
use crate::error::{Error, ErrorCode};
use crate::limits::{DELETED_ENTRIES, DELETED_SUBSCRIPTIONS};
use crate::services::context::{Caller, Context};
use crate::services::plans::view::Plan;
use crate::services::{counts, events, idempotency};

/// Deletes a plan and all its subscriptions permanently.
///
/// Refusals, first match wins: `not_found`, `cannot_delete_plan`.
pub async fn delete(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    let row = by_token(ctx.store.read(), &caller.account, token).await?.ok_or(ErrorCode::NotFound)?;
    let data = (row, caller.account.now, ctx.clock.now());
    idempotency::write(ctx, caller, data, async |tx, (row, now, wall)| hide(tx, row, *now, *wall).await).await
}

async fn hide(tx: &Tx, seen: &plan::Model, now: Timestamp, wall: Timestamp) -> Result<(), Error> {
    let this = || Column::AccountId.eq(seen.account_id).and(Column::Id.eq(seen.id));
    let there = || plan::Entity::owned_by(seen.account_id).filter(this()).filter(Column::DeletedAt.is_null());
    let hidden = plan::Entity::update_many()
        .filter(this())
        .filter(Column::DeletedAt.is_null())
        .filter(Column::Trial.eq(0).and(Column::Active.eq(0)).and(Column::Starting.eq(0)))
        .col_expr(Column::DeletedAt, Expr::value(wall.millis()));
    if hidden.exec(tx).await?.rows_affected == 0 {
        let refusal = match there().one(tx).await? {
            Some(_) => ErrorCode::CannotDeletePlan,
            None => ErrorCode::NotFound,
        };
        return Err(refusal.into());
    }
    let last = plan::Entity::owned_by(seen.account_id).filter(this()).one(tx).await?;
    let mut last = last.ok_or_else(|| Error::internal("a plan is gone under its lock"))?;
    last.deleted_at = None;
    if last.cancelling > 0 {
        // No later event may mention these subscriptions. Other units lock a subscription before its plan: if that
        // deadlocks, the database reports it, and one of the two units runs again.
        let ending = subscription::Entity::update_of(last.account_id)
            .filter(subscription::Column::PlanId.eq(last.id))
            .filter(subscription::Column::EndsAt.is_not_null())
            .col_expr(subscription::Column::EndsAt, Expr::value(None::<i64>));
        ending.exec(tx).await?;
    }
    counts::subtract(tx, last.account_id, Counted::Plans, 1);
    let subscriptions = u64::try_from(last.cancelling + last.cancelled).unwrap_or_default();
    counts::subtract(tx, last.account_id, Counted::Subscriptions, subscriptions);
    events::record(tx, last.account_id, now, EventType::PlanDeleted, &Plan::from(last))
}

/// Selects the deleted plans that still have rows.
pub fn due(wall: Timestamp) -> Select<plan::Entity> {
    plan::Entity::find().filter(COLUMN.deleted_at.lte(wall))
}

/// Deletes the remaining rows of a deleted plan. Running twice, or on two servers at once, does no harm.
pub async fn sweep(ctx: &Context, plan: plan::Model) -> Result<(), Error> {
    while ctx.store.write(plan.clone(), delete_batch).await? {}
    Ok(())
}

/// Deletes a batch of the plan's subscriptions, their ledgers first, and the plan after the last of them. Returns
/// whether rows remain.
async fn delete_batch(tx: &Tx, plan: &plan::Model) -> Result<bool, Error> {
    use subscription_entry::Column as Entry;

    let account = plan.account_id;
    // Of two that delete the same entries, one would find none gone, and delete their subscriptions before the rest of them.
    tx.lock::<plan::Entity>((account, plan.id)).await?;
    let some: Vec<SubscriptionToken> = subscription::Entity::owned_by(account)
        .filter(subscription::Column::PlanId.eq(plan.id))
        .limit(DELETED_SUBSCRIPTIONS)
        .select_only()
        .column(subscription::Column::Id)
        // A bill in flight may still write entries.
        .lock(LockType::Update)
        .into_tuple()
        .all(tx)
        .await?;
    let entries = subscription_entry::Entity::owned_by(account)
        .filter(Entry::SubscriptionId.is_in(some.iter().copied()))
        .limit(DELETED_ENTRIES)
        .select_only()
        .column(Entry::Id)
        .into_query();
    let entries = subscription_entry::Entity::delete_of(account).filter(Entry::Id.in_subquery(entries));
    if entries.exec(tx).await?.rows_affected >= DELETED_ENTRIES {
        return Ok(true);
    }
    if some.is_empty() {
        let last = plan::Entity::delete_at(account, plan.id);
        last.exec(tx).await?;
        return Ok(false);
    }
    let gone = subscription::Entity::delete_of(account).filter(subscription::Column::Id.is_in(some));
    gone.exec(tx).await?;
    Ok(true)
}
