//! Ends subscriptions after their last paid interval: the plan has no more, or the customer has unsubscribed.

use entity::subscription::{self, Column};
use entity::{Owned, Timestamp};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Select};
use store::Tx;

use super::course::end_billing;
use super::rows::{lock_subscription, put};
use super::state::{SubscriptionAction, next};
use crate::error::Error;
use crate::services::context::Context;
use crate::services::due_work::clocks;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{ClockMoveRange, DueRow, DueWork, WorkResult};

/// Ends subscriptions whose last interval is over.
pub struct SubscriptionEndWork;

impl DueWork for SubscriptionEndWork {
    type Entity = subscription::Entity;
    const NAME: &'static str = "ending_subscription";
    const IS_FINAL: bool = true;
    // Null if no end is due.
    const AT: Column = Column::EndsAt;
    const ID: Column = Column::Id;

    /// A renewal in flight may pay for another interval, which runs out, too.
    fn due(wall: Timestamp) -> Vec<Select<subscription::Entity>> {
        clocks::due(&subscription::Entity::find().filter(Column::ChargeId.is_null()), Column::EndsAt, wall)
            .into()
    }

    fn of_account(range: &ClockMoveRange) -> Select<subscription::Entity> {
        subscription::Entity::owned_by(range.account).filter(Column::ChargeId.is_null())
    }

    fn subject(row: &subscription::Model) -> DueRow {
        let at = row.ends_at.unwrap_or(row.created_at);
        DueRow::new(row.account_id, at, row.id)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: subscription::Model) -> Result<WorkResult, Error> {
        let ended = time.write(ctx, (row, time.now(ctx)), async |tx, (seen, now)| end(tx, seen, *now).await);
        ended.await.map(WorkResult::from)
    }
}

async fn end(tx: &Tx, seen: &subscription::Model, now: Timestamp) -> Result<Option<WorkResult>, Error> {
    let is_still_due = |row: &subscription::Model| row.ends_at == seen.ends_at && row.charge_id.is_none();
    let Some(row) = lock_subscription(tx, seen).await?.filter(is_still_due) else {
        // Reactivated, or ended by another worker.
        return Ok(None);
    };
    let step = next(row.state, SubscriptionAction::Finish)?;
    put(tx, &row, end_billing(&row, step, now), step.emits, now).await?;
    Ok(Some(step.emits.map_or(WorkResult::Silent, WorkResult::Event)))
}
