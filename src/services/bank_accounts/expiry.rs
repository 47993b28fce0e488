//! What becomes of bank accounts that nobody used (decisions 8).

use entity::bank_account::{self, BankAccountState, Column};
use entity::{Owned, Timestamp};
use futures::FutureExt;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Select};

use crate::error::Error;
use crate::services::clocks;
use crate::services::context::Context;
use crate::services::due_work::{DueWork, Ran, Reach, Subject};
use crate::services::moment::Moment;

/// Bank accounts whose unused tokens have expired are deleted.
pub struct Expiry;

impl DueWork for Expiry {
    type Entity = bank_account::Entity;
    const NAME: &'static str = "expired_bank_account";
    const AT: Column = Column::ExpiresAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<bank_account::Entity>> {
        let unused = bank_account::Entity::find().filter(Column::State.eq(BankAccountState::Unused));
        clocks::due(&unused, Column::ExpiresAt, wall).into()
    }

    fn of_account(reach: &Reach) -> Select<bank_account::Entity> {
        // Only unused ones have a time.
        bank_account::Entity::owned_by(reach.account)
    }

    fn subject(row: &bank_account::Model) -> Subject {
        let at = row.expires_at.unwrap_or(row.created_at);
        Subject { account: row.account_id, at, token: row.id.to_string(), held_until: None }
    }

    async fn work(ctx: &Context, moment: &Moment, row: bank_account::Model) -> Result<Ran, Error> {
        let unit = ctx.store.write((row, moment.mark()), |tx, (seen, mark)| {
            async move {
                let expired = bank_account::Entity::delete_many()
                    .filter(Column::AccountId.eq(seen.account_id))
                    .filter(Column::Id.eq(seen.id))
                    .filter(Column::State.eq(BankAccountState::Unused));
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
