//! Disputes that simulated cardholders open right after a capture.

use entity::dispute::DisputeCategory;
use entity::event::EventType;
use entity::scheduled_dispute::{self, Column};
use entity::{ChargeToken, Listed};
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::QuerySelect;
use sea_orm::sea_query::LockType;
use store::Tx;

use super::open::OpenDisputeUnit;
use crate::Store;
use crate::error::{Error, ErrorCode};
use crate::services::context::{Account, Context};
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{DueRow, DueWork, WorkResult};
use crate::services::payments::capture_listener::{self, CaptureListener};

/// Opens the dispute scheduled with a capture before the capture is answered, so that the client then finds it. If this
/// fails, a worker does it as due work.
struct ScheduledDisputes;

impl CaptureListener for ScheduledDisputes {
    fn captured<'a>(
        &'a self,
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
}

/// Listens to the captures of this process from now on.
pub fn listen(store: &Store) {
    capture_listener::listen(store, ScheduledDisputes);
}

/// Opens scheduled disputes.
pub struct SimulatedDisputeWork;

impl DueWork for SimulatedDisputeWork {
    type Entity = scheduled_dispute::Entity;
    const NAME: &'static str = "foretold_dispute";
    const AT: Column = Column::ArrivesAt;
    const ID: Column = Column::Id;

    fn subject(row: &scheduled_dispute::Model) -> DueRow {
        DueRow::new(row.account_id, row.arrives_at, row.id)
    }

    async fn work(
        ctx: &Context,
        time: &WorkTime,
        row: scheduled_dispute::Model,
    ) -> Result<WorkResult, Error> {
        open_due(ctx, time, row.id).await
    }
}

/// Opens the charge's scheduled dispute, if there is one.
async fn open_due(ctx: &Context, time: &WorkTime, charge: ChargeToken) -> Result<WorkResult, Error> {
    let arriving = OpenDisputeUnit {
        account: time.account().id(),
        charge,
        amount: None,
        category: DisputeCategory::General,
        now: time.now(ctx),
    };
    let unit = time.write(ctx, arriving, async |tx, arriving| {
        if !lock_scheduled(tx, arriving).await? {
            return Ok(None);
        }
        let result = match arriving.record(tx).await {
            Ok(_) => WorkResult::Event(EventType::DisputeEvidenceRequired),
            // Refunded or disputed meanwhile: nothing is left (`docs/decisions.md`, 215).
            Err(error) if error.code() == ErrorCode::InvalidResource => WorkResult::Skipped,
            Err(error) => return Err(error),
        };
        forget(tx, arriving).await?;
        Ok(Some(result))
    });
    unit.await.map(WorkResult::from)
}

/// Locks the scheduled dispute until commit and returns whether it still exists.
async fn lock_scheduled(tx: &Tx, arriving: &OpenDisputeUnit) -> Result<bool, Error> {
    let scheduled = scheduled_dispute::Entity::at(arriving.account, arriving.charge);
    Ok(scheduled.lock(LockType::NoKeyUpdate).one(tx).await?.is_some())
}

async fn forget(tx: &Tx, arriving: &OpenDisputeUnit) -> Result<(), Error> {
    let scheduled = scheduled_dispute::Entity::delete_at(arriving.account, arriving.charge);
    scheduled.exec(tx).await?;
    Ok(())
}
