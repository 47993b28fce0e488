//! What becomes of sessions in which nobody decided.

use entity::event::EventType;
use entity::three_d_secure::{self, Column, SessionState};
use entity::{Owned, Timestamp};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Select};

use super::decide::end;
use super::state::Decision;
use crate::error::Error;
use crate::services::clocks;
use crate::services::context::Context;
use crate::services::due_work::{DueWork, Ran, Reach, Subject};
use crate::services::moment::Moment;

/// Sessions whose thirty minutes are over end, and their charges have failed.
pub struct Expiry;

impl DueWork for Expiry {
    type Entity = three_d_secure::Entity;
    const NAME: &'static str = "expired_session";
    const AT: Column = Column::ExpiresAt;
    // The session's own id is random, and order is to be the same each time.
    const ID: Column = Column::ChargeId;

    fn due(wall: Timestamp) -> Vec<Select<three_d_secure::Entity>> {
        let open = three_d_secure::Entity::find().filter(Column::State.eq(SessionState::Open));
        clocks::due(&open, Column::ExpiresAt, wall).into()
    }

    fn of_account(reach: &Reach) -> Select<three_d_secure::Entity> {
        // The column is null in every other state.
        three_d_secure::Entity::owned_by(reach.account)
    }

    fn subject(row: &three_d_secure::Model) -> Subject {
        let at = row.expires_at.unwrap_or(row.created_at);
        // The session's own token is for the cardholder's way back only.
        Subject { account: row.account_id, at, token: row.charge_id.to_string(), held_until: None }
    }

    async fn work(ctx: &Context, moment: &Moment, row: three_d_secure::Model) -> Result<Ran, Error> {
        let ended = end(ctx, moment, row, Decision::Expire).await?;
        Ok(if ended { Ran::Event(EventType::ChargeFailed) } else { Ran::Nothing })
    }
}
