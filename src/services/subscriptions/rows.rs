//! The rows of subscriptions: which of them clients see, and how one is stored with the counts of its plan.

use entity::event::EventType;
use entity::subscription::{self, Column, SubscriptionState};
use entity::{AccountToken, ChargeToken, CustomerToken, Listed, Owned, Timestamp, customer, plan};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect, QueryTrait, Select};
use store::Tx;

use crate::error::Error;
use crate::services::subscriptions::view::Subscription;
use crate::services::{events, plans};

/// Selects the subscriptions that clients see: not those whose first charge is in flight, nor those of a deleted plan.
pub(super) fn visible(account: AccountToken) -> Select<subscription::Entity> {
    of_plans(account).filter(Column::State.ne(SubscriptionState::Starting))
}

/// Selects all but those of deleted plans, which are few and soon deleted.
fn of_plans(account: AccountToken) -> Select<subscription::Entity> {
    let deleted = plan::Entity::owned_by(account)
        .filter(plan::Column::DeletedAt.is_not_null())
        .select_only()
        .column(plan::Column::Id)
        .into_query();
    subscription::Entity::owned_by(account).filter(Column::PlanId.not_in_subquery(deleted))
}

/// Locks the subscription of a charge in flight until the commit and returns it.
pub(super) async fn lock_charged(
    tx: &Tx,
    account: AccountToken,
    charge: ChargeToken,
) -> Result<Option<subscription::Model>, Error> {
    Ok(of_plans(account).filter(Column::ChargeId.eq(charge)).lock(LockType::NoKeyUpdate).one(tx).await?)
}

/// Locks a subscription until the commit and returns its current row.
pub(super) async fn lock_subscription(
    tx: &Tx,
    seen: &subscription::Model,
) -> Result<Option<subscription::Model>, Error> {
    let row = visible(seen.account_id).filter(Column::Id.eq(seen.id));
    Ok(row.lock(LockType::NoKeyUpdate).one(tx).await?)
}

/// Locks a customer until the commit, so that neither it nor its cards are deleted. Returns whether it exists.
pub(super) async fn lock_customer(
    tx: &Tx,
    account: AccountToken,
    customer: CustomerToken,
) -> Result<bool, Error> {
    let row = customer::Entity::at(account, customer);
    Ok(row.lock(LockType::KeyShare).one(tx).await?.is_some())
}

pub(super) async fn plan_of(
    db: &impl ConnectionTrait,
    row: &subscription::Model,
) -> Result<plan::Model, Error> {
    let plan = plan::Entity::at(row.account_id, row.plan_id).one(db).await?;
    plan.ok_or_else(|| Error::internal("a subscription without its plan"))
}

/// Stores the next row of a locked subscription, the counts of its plan, and the event. No event follows the deletion of the plan.
pub(super) async fn put(
    tx: &Tx,
    before: &subscription::Model,
    after: subscription::Model,
    emits: Option<EventType>,
    now: Timestamp,
) -> Result<Subscription, Error> {
    tx.update(before, &after).await?;
    let (from, to) = (Some(before.state), Some(after.state));
    let has_plan = plans::count::count_move(tx, after.account_id, after.plan_id, from, to).await?;
    record_event(tx, after, emits.filter(|_| has_plan), now)
}

/// Records the event with the subscription as it is now shown.
pub(super) fn record_event(
    tx: &Tx,
    row: subscription::Model,
    emits: Option<EventType>,
    now: Timestamp,
) -> Result<Subscription, Error> {
    let account = row.account_id;
    let shown = Subscription::from(row);
    if let Some(event) = emits {
        events::record(tx, account, now, event, &shown)?;
    }
    Ok(shown)
}
