//! Disputes that simulated cardholders open right after a capture.

use entity::dispute::DisputeCategory;
use entity::event::EventType;
use entity::foretold_dispute::{self, Column};
use entity::{ChargeToken, Owned, Timestamp};
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect, Select};

use super::open::OpenDisputeUnit;
use crate::error::{Error, ErrorCode};
use crate::services::context::{Account, Context};
use crate::services::due_work::clocks;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{ClockMoveRange, DueRow, DueWork, WorkResult};
use crate::store::Tx;

/// Opens the dispute scheduled with a capture before the capture is answered, so that the client then finds it. If this
/// fails, a worker does it as due work.
pub fn open_scheduled_dispute<'a>(
    ctx: &'a Context,
    account: &'a Account,
    charge: ChargeToken,
) -> BoxFuture<'a, ()> {
    async move {
        if let Err(error) = open_due(ctx, &WorkTime::on_running_clock(account.clone()), charge).await {
            tracing::debug!(%error, "a dispute arrives later");
        }
    }
    .boxed()
}

/// Opens scheduled disputes.
pub struct SimulatedDisputeWork;

impl DueWork for SimulatedDisputeWork {
    type Entity = foretold_dispute::Entity;
    const NAME: &'static str = "foretold_dispute";
    const AT: Column = Column::ArrivesAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<foretold_dispute::Entity>> {
        clocks::due(&foretold_dispute::Entity::find(), Column::ArrivesAt, wall).into()
    }

    fn of_account(reach: &ClockMoveRange) -> Select<foretold_dispute::Entity> {
        foretold_dispute::Entity::owned_by(reach.account)
    }

    fn subject(row: &foretold_dispute::Model) -> DueRow {
        DueRow { account: row.account_id, at: row.arrives_at, token: row.id.to_string(), leased_until: None }
    }

    async fn work(
        ctx: &Context,
        moment: &WorkTime,
        row: foretold_dispute::Model,
    ) -> Result<WorkResult, Error> {
        open_due(ctx, moment, row.id).await
    }
}

/// Opens the charge's scheduled dispute, if there is one.
async fn open_due(ctx: &Context, moment: &WorkTime, charge: ChargeToken) -> Result<WorkResult, Error> {
    let arriving = OpenDisputeUnit {
        account: moment.account().id(),
        charge,
        amount: None,
        category: DisputeCategory::General,
        now: moment.now(ctx),
    };
    let unit = ctx.store.write((arriving, moment.clock_update()), |tx, (arriving, mark)| {
        async move {
            if !lock_scheduled(tx, arriving).await? {
                return Ok(WorkResult::Skipped);
            }
            let ran = match arriving.record(tx).await {
                Ok(_) => WorkResult::Event(EventType::DisputeEvidenceRequired),
                // Refunded or disputed meanwhile: nothing is left (`docs/decisions.md`, 215).
                Err(error) if error.code() == ErrorCode::InvalidResource => WorkResult::Skipped,
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

/// Locks the scheduled dispute until commit and returns whether it still exists.
async fn lock_scheduled(tx: &Tx, arriving: &OpenDisputeUnit) -> Result<bool, Error> {
    let scheduled =
        foretold_dispute::Entity::owned_by(arriving.account).filter(Column::Id.eq(arriving.charge));
    Ok(scheduled.lock(LockType::NoKeyUpdate).one(tx).await?.is_some())
}

async fn forget(tx: &Tx, arriving: &OpenDisputeUnit) -> Result<(), Error> {
    let scheduled = foretold_dispute::Entity::delete_many()
        .filter(Column::AccountId.eq(arriving.account))
        .filter(Column::Id.eq(arriving.charge));
    scheduled.exec(tx).await?;
    Ok(())
}
