//! The rows of subscriptions: which of them are seen, and how one is stored with the counts of its plan.

use entity::event::EventType;
use entity::subscription::{self, Column, SubscriptionState};
use entity::{AccountToken, ChargeToken, CustomerToken, Owned, PlanToken, Timestamp, customer, plan};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect, QueryTrait, Select};

use crate::error::Error;
use crate::services::{events, plans};
use crate::store::Tx;
use crate::views::subscription::Subscription;

/// The subscriptions that anybody sees: not those whose first charge is under way, nor those of a deleted plan.
pub(super) fn visible(account: AccountToken) -> Select<subscription::Entity> {
    of_plans(account).filter(Column::State.ne(SubscriptionState::Starting))
}

/// All but those of deleted plans, which are few and soon gone.
fn of_plans(account: AccountToken) -> Select<subscription::Entity> {
    let deleted = plan::Entity::owned_by(account)
        .filter(plan::Column::DeletedAt.is_not_null())
        .select_only()
        .column(plan::Column::Id)
        .into_query();
    subscription::Entity::owned_by(account).filter(Column::PlanId.not_in_subquery(deleted))
}

/// The one that a charge under way is for, held until the commit.
pub(super) async fn charged(
    tx: &Tx,
    account: AccountToken,
    charge: ChargeToken,
) -> Result<Option<subscription::Model>, Error> {
    Ok(of_plans(account).filter(Column::ChargeId.eq(charge)).lock(LockType::NoKeyUpdate).one(tx).await?)
}

/// One as it stands now, held until the commit.
pub(super) async fn held(tx: &Tx, seen: &subscription::Model) -> Result<Option<subscription::Model>, Error> {
    let row = visible(seen.account_id).filter(Column::Id.eq(seen.id));
    Ok(row.lock(LockType::NoKeyUpdate).one(tx).await?)
}

/// Keep a customer from being deleted, and losing cards, before the commit. Says whether it is there.
pub(super) async fn customer_held(
    tx: &Tx,
    account: AccountToken,
    customer: CustomerToken,
) -> Result<bool, Error> {
    let row = customer::Entity::owned_by(account).filter(customer::Column::Id.eq(customer));
    Ok(row.lock(LockType::KeyShare).one(tx).await?.is_some())
}

/// The plan of a subscription.
pub(super) async fn plan_of(
    db: &impl ConnectionTrait,
    row: &subscription::Model,
) -> Result<plan::Model, Error> {
    let plan = plan_by_id(db, row.account_id, row.plan_id).await?;
    plan.ok_or_else(|| Error::internal("a subscription without its plan"))
}

pub(super) async fn plan_by_id(
    db: &impl ConnectionTrait,
    account: AccountToken,
    id: PlanToken,
) -> Result<Option<plan::Model>, Error> {
    Ok(plan::Entity::owned_by(account).filter(plan::Column::Id.eq(id)).one(db).await?)
}

/// Write how a held subscription goes on, and what happened to it.
pub(super) async fn put(
    tx: &Tx,
    before: &subscription::Model,
    after: subscription::Model,
    emits: Option<EventType>,
    now: Timestamp,
) -> Result<Subscription, Error> {
    tx.update(before, &after).await?;
    plans::count::moved(tx, after.account_id, after.plan_id, Some(before.state), Some(after.state)).await?;
    tell(tx, after, emits, now)
}

/// Record what happened, with the subscription as it now shows.
pub(super) fn tell(
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
