//! Recovers charges of subscriptions with an unknown outcome (`docs/decisions.md`, 134 and 135). A first charge, or that of a
//! reactivation, is reversed: the response of its client says that nothing was charged. A renewal stands.

use entity::Timestamp;
use entity::charge::{self, Column, Origin};
use sea_orm::sea_query::SimpleExpr;
use sea_orm::{ColumnTrait, Condition, Select};

use super::bill::{BillingWork, work_result};
use super::record_outcome::record_outcome;
use crate::error::Error;
use crate::services::context::Context;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{ClockMoveRange, DueRow, DueWork, WorkResult};
use crate::services::payments::purpose::bills;
use crate::services::payments::recovery::{claim, creation, due_row, in_flight, select_lost};

pub struct SubscriptionRecoveryWork;

impl DueWork for SubscriptionRecoveryWork {
    type Entity = charge::Entity;
    const NAME: &'static str = "unsettled_subscription";
    const AT: Column = Column::CreatedAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<charge::Entity>> {
        vec![select_lost(wall, of_subscriptions())]
    }

    /// Adds renewals that began during the move: the next interval is counted from them (`docs/decisions.md`, 299).
    fn of_account(range: &ClockMoveRange) -> Select<charge::Entity> {
        in_flight(range, of_subscriptions(), Condition::any().add(Column::Origin.eq(Origin::Renewal)))
    }

    fn subject(row: &charge::Model) -> DueRow {
        due_row(row)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: charge::Model) -> Result<WorkResult, Error> {
        let Some(row) = claim(ctx, time, row).await? else { return Ok(WorkResult::Skipped) };
        let Some(result) = creation(ctx, time, &row).await else { return Ok(WorkResult::Unanswered) };
        // A renewal is dated by the clock by which bills are due.
        let time = if row.origin == Origin::Renewal { &time.clone().by(BillingWork::wall) } else { time };
        work_result(&record_outcome(ctx, time, row, result).await?)
    }
}

fn of_subscriptions() -> SimpleExpr {
    Column::Origin.is_in(bills())
}
