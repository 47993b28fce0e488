//! What becomes of cards that nobody used (specification, Limits).

use entity::card::{self, CardState, Column};
use entity::{Owned, Timestamp};
use futures::FutureExt;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Select};

use crate::error::Error;
use crate::services::clocks;
use crate::services::context::Context;
use crate::services::due_work::{DueWork, Ran, Reach, Subject};
use crate::services::moment::Moment;

/// Cards whose unused tokens have expired are erased.
pub struct Expiry;

impl DueWork for Expiry {
    type Entity = card::Entity;
    const NAME: &'static str = "expired_card";
    const AT: Column = Column::ExpiresAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<card::Entity>> {
        let unused = card::Entity::find().filter(Column::State.eq(CardState::Unused));
        clocks::due(&unused, Column::ExpiresAt, wall).into()
    }

    fn of_account(reach: &Reach) -> Select<card::Entity> {
        // Only unused and reserved ones have a time. PostgreSQL takes a state that equals something for rare, until it
        // has counted, and would sort all of them.
        card::Entity::owned_by(reach.account).filter(Column::State.ne(CardState::Reserved))
    }

    fn subject(row: &card::Model) -> Subject {
        let at = row.expires_at.unwrap_or(row.created_at);
        Subject { account: row.account_id, at, token: row.id.to_string(), held_until: None }
    }

    async fn work(ctx: &Context, moment: &Moment, row: card::Model) -> Result<Ran, Error> {
        let unit = ctx.store.write((row, moment.mark()), |tx, (seen, mark)| {
            async move {
                let expired = card::Entity::delete_many()
                    .filter(Column::AccountId.eq(seen.account_id))
                    .filter(Column::Id.eq(seen.id))
                    .filter(Column::State.eq(CardState::Unused));
                if expired.exec(tx).await?.rows_affected == 0 {
                    // Used in time.
                    return Ok(Ran::Nothing);
                }
                mark.set(tx).await?;
                Ok(Ran::Quietly)
            }
            .boxed()
        });
        unit.await
    }
}
