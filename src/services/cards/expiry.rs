//! Erases cards whose tokens were never used (specification, Limits).

use std::time::Duration;

use entity::card::{self, CardState, Column};
use entity::{Listed, Owned, Timestamp};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Select};

use crate::error::Error;
use crate::limits::TIDY_REST;
use crate::services::context::Context;
use crate::services::due_work::clocks;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{self, ClockMoveRange, DueRow, DueWork, WorkResult};

/// Erases cards whose unused tokens have expired.
pub struct CardExpiryWork;

impl DueWork for CardExpiryWork {
    type Entity = card::Entity;
    const NAME: &'static str = "expired_card";
    const DESTROYS: bool = true;
    const REST: Duration = TIDY_REST;
    const AT: Column = Column::ExpiresAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<card::Entity>> {
        let unused = card::Entity::find().filter(Column::State.eq(CardState::Unused));
        clocks::due(&unused, Column::ExpiresAt, wall).into()
    }

    fn of_account(range: &ClockMoveRange) -> Select<card::Entity> {
        // Only unused and reserved cards have an expiry. Before its statistics are collected, PostgreSQL assumes that a
        // state equal to a value is rare, and would sort all of them; hence "not reserved".
        card::Entity::owned_by(range.account).filter(Column::State.ne(CardState::Reserved))
    }

    fn subject(row: &card::Model) -> DueRow {
        let at = row.expires_at.unwrap_or(row.created_at);
        DueRow::new(row.account_id, at, row.id)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: card::Model) -> Result<WorkResult, Error> {
        let card = card::Entity::delete_at(row.account_id, row.id);
        due_work::delete(ctx, time, card.filter(Column::State.eq(CardState::Unused))).await
    }
}
