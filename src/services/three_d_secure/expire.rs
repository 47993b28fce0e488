//! Expires sessions in which the cardholder did not decide.

use entity::Timestamp;
use entity::event::EventType;
use entity::three_d_secure::{self, Column, SessionState};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Select};

use super::decide::end_unpaid;
use super::state::ChallengeDecision;
use crate::error::Error;
use crate::services::context::Context;
use crate::services::due_work::clocks;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{DueRow, DueWork, WorkResult};

/// Ends sessions after thirty minutes and fails their charges.
pub struct SessionExpiryWork;

impl DueWork for SessionExpiryWork {
    type Entity = three_d_secure::Entity;
    const NAME: &'static str = "expired_session";
    // Null in every other state.
    const AT: Column = Column::ExpiresAt;
    // The session's id is random, and the order must be the same each time.
    const ID: Column = Column::ChargeId;

    fn due(wall: Timestamp) -> Vec<Select<three_d_secure::Entity>> {
        let open = three_d_secure::Entity::find().filter(Column::State.eq(SessionState::Open));
        clocks::due(&open, Column::ExpiresAt, wall).into()
    }

    fn subject(row: &three_d_secure::Model) -> DueRow {
        let at = row.expires_at.unwrap_or(row.created_at);
        // The session's token appears only in the cardholder's redirect.
        DueRow::new(row.account_id, at, row.charge_id)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: three_d_secure::Model) -> Result<WorkResult, Error> {
        let ended = end_unpaid(ctx, time, row, ChallengeDecision::Expire).await?;
        Ok(if ended { WorkResult::Event(EventType::ChargeFailed) } else { WorkResult::Skipped })
    }
}
