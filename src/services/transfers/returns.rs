//! TransferReturnWork the money of transfers that the bank sends back.

use entity::event::EventType;
use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::transfer::{self, Column};
use entity::{Owned, Timestamp};
use futures::FutureExt;
use sea_orm::{EntityTrait, Select};

use super::state::{Action, next};
use crate::error::Error;
use crate::runtime::crash_points;
use crate::services::context::Context;
use crate::services::due_work::clocks;
use crate::services::due_work::work_time::{OptionalClockUpdate, WorkTime};
use crate::services::due_work::{ClockMoveRange, DueRow, DueWork, WorkResult};
use crate::services::events;
use crate::services::ledger::{self, Entry};
use crate::store::Tx;
use crate::views::transfer::Transfer;

/// TransferReturnWork amount and fee a day after the transfer.
pub struct TransferReturnWork;

impl DueWork for TransferReturnWork {
    type Entity = transfer::Entity;
    const NAME: &'static str = "returning_transfer";
    const AT: Column = Column::ReturnsAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<transfer::Entity>> {
        clocks::due(&transfer::Entity::find(), Column::ReturnsAt, wall).into()
    }

    fn of_account(reach: &ClockMoveRange) -> Select<transfer::Entity> {
        transfer::Entity::owned_by(reach.account)
    }

    fn subject(row: &transfer::Model) -> DueRow {
        let at = row.returns_at.unwrap_or(row.created_at);
        DueRow { account: row.account_id, at, token: row.id.to_string(), leased_until: None }
    }

    async fn work(ctx: &Context, moment: &WorkTime, row: transfer::Model) -> Result<WorkResult, Error> {
        let coming_back = Return { seen: row, now: moment.now(ctx), mark: moment.clock_update() };
        let ran = ctx.store.write(coming_back, |tx, coming_back| coming_back.record(tx).boxed()).await;
        crash_points::point("transfer_return", "outcome.after");
        ran
    }
}

struct Return {
    seen: transfer::Model,
    now: Timestamp,
    mark: OptionalClockUpdate,
}

impl Return {
    async fn record(&self, tx: &Tx) -> Result<WorkResult, Error> {
        let seen = &self.seen;
        let Some(step) = next(seen.status, Action::Return) else { return Ok(WorkResult::Skipped) };
        let row = transfer::Model { status: step.to, returns_at: None, ..seen.clone() };
        if !tx.compare_and_swap(seen, &row, &[Column::Status]).await? {
            return Ok(WorkResult::Skipped);
        }
        self.give_back(tx, EntryKind::TransferReturn, row.amount, Book::Transfers);
        if row.fee > 0 {
            self.give_back(tx, EntryKind::TransferFeeReturn, row.fee, Book::Fees);
        }
        events::record(tx, row.account_id, self.now, step.emits, &Transfer::from(row))?;
        self.mark.set(tx).await?;
        crash_points::point("transfer_return", "outcome.before");
        Ok(WorkResult::Event(EventType::TransferFailed))
    }

    /// TransferReturnWork the money. It was taken from the available balance, so it is available again today.
    fn give_back(&self, tx: &Tx, kind: EntryKind, amount: i64, from: Book) {
        let entry = Entry { account: self.seen.account_id, kind, source: self.seen.id.into(), now: self.now };
        ledger::record(tx, &entry, self.now.day(), amount, &[(from, -amount)]);
    }
}
