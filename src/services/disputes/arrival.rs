//! Disputes that simulated cardholders make as soon as they are charged.

use entity::dispute::DisputeCategory;
use entity::event::EventType;
use entity::foretold_dispute::{self, Column};
use entity::{ChargeToken, Owned, Timestamp};
use futures::FutureExt;
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect, Select};

use super::open::Arriving;
use crate::error::{Error, ErrorCode};
use crate::services::clocks;
use crate::services::context::{Account, Context};
use crate::services::due_work::{DueWork, Ran, Reach, Subject};
use crate::services::moment::Moment;
use crate::store::Tx;

/// The dispute that was foretold with a capture arrives before that is answered, so that whoever asks for it then finds it.
/// Should it fail here, it is due work like any other.
pub(in crate::services) async fn comes_at_once(ctx: &Context, account: &Account, charge: ChargeToken) {
    if let Err(error) = arrive(ctx, &Moment::passing(account.clone()), charge).await {
        tracing::debug!(%error, "a dispute arrives later");
    }
}

/// Foretold disputes arrive.
pub struct Arrival;

impl DueWork for Arrival {
    type Entity = foretold_dispute::Entity;
    const NAME: &'static str = "foretold_dispute";
    const AT: Column = Column::ArrivesAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<foretold_dispute::Entity>> {
        clocks::due(&foretold_dispute::Entity::find(), Column::ArrivesAt, wall).into()
    }

    fn of_account(reach: &Reach) -> Select<foretold_dispute::Entity> {
        foretold_dispute::Entity::owned_by(reach.account)
    }

    fn subject(row: &foretold_dispute::Model) -> Subject {
        Subject { account: row.account_id, at: row.arrives_at, token: row.id.to_string(), held_until: None }
    }

    async fn work(ctx: &Context, moment: &Moment, row: foretold_dispute::Model) -> Result<Ran, Error> {
        arrive(ctx, moment, row.id).await
    }
}

/// The dispute of a charge, if one is foretold.
async fn arrive(ctx: &Context, moment: &Moment, charge: ChargeToken) -> Result<Ran, Error> {
    let arriving = Arriving {
        account: moment.account().id(),
        charge,
        amount: None,
        category: DisputeCategory::General,
        now: moment.now(ctx),
    };
    let unit = ctx.store.write((arriving, moment.mark()), |tx, (arriving, mark)| {
        async move {
            if !is_foretold(tx, arriving).await? {
                return Ok(Ran::Nothing);
            }
            let ran = match arriving.record(tx).await {
                Ok(_) => Ran::Event(EventType::DisputeEvidenceRequired),
                // Refunded or disputed meanwhile: nothing is left.
                Err(error) if error.code() == ErrorCode::InvalidResource => Ran::Nothing,
                Err(error) => return Err(error),
            };
            forget(tx, arriving).await?;
            mark.set(tx).await?;
            Ok(ran)
        }
        .boxed()
    });
    unit.await
}

/// Whether it is still to come; nobody else lets it come before this commit.
async fn is_foretold(tx: &Tx, arriving: &Arriving) -> Result<bool, Error> {
    let foretold =
        foretold_dispute::Entity::owned_by(arriving.account).filter(Column::Id.eq(arriving.charge));
    Ok(foretold.lock(LockType::NoKeyUpdate).one(tx).await?.is_some())
}

async fn forget(tx: &Tx, arriving: &Arriving) -> Result<(), Error> {
    let foretold = foretold_dispute::Entity::delete_many()
        .filter(Column::AccountId.eq(arriving.account))
        .filter(Column::Id.eq(arriving.charge));
    foretold.exec(tx).await?;
    Ok(())
}
