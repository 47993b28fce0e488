//! Returns the money of transfers that the bank sends back.

use base::crash_points;
use base::mutants::{self, Mutant};
use entity::Timestamp;
use entity::event::EventType;
use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::transfer::{self, Column};
use store::Tx;

use super::state::{TransferAction, next};
use crate::error::Error;
use crate::services::context::Context;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{DueRow, DueWork, WorkResult};
use crate::services::events;
use crate::services::ledger::{self, Entry};
use crate::services::transfers::view::Transfer;

/// Returns amount and fee a day after the transfer.
pub struct TransferReturnWork;

impl DueWork for TransferReturnWork {
    type Entity = transfer::Entity;
    const NAME: &'static str = "returning_transfer";
    const AT: Column = Column::ReturnsAt;
    const ID: Column = Column::Id;

    fn subject(row: &transfer::Model) -> DueRow {
        let at = row.returns_at.unwrap_or(row.created_at);
        DueRow::new(row.account_id, at, row.id)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: transfer::Model) -> Result<WorkResult, Error> {
        let unit = ReturnTransferUnit { seen: row, now: time.now(ctx) };
        let result = time.write(ctx, unit, async |tx, unit| unit.record(tx).await).await;
        crash_points::point("transfer_return", "outcome.after");
        result.map(WorkResult::from)
    }
}

struct ReturnTransferUnit {
    seen: transfer::Model,
    now: Timestamp,
}

impl ReturnTransferUnit {
    async fn record(&self, tx: &Tx) -> Result<Option<WorkResult>, Error> {
        let seen = &self.seen;
        let Some(step) = next(seen.status, TransferAction::Return) else { return Ok(None) };
        let row = transfer::Model { status: step.to, returns_at: None, ..seen.clone() };
        if !tx.compare_and_swap(seen, &row, &[Column::Status]).await? {
            return Ok(None);
        }
        self.give_back(tx, EntryKind::TransferReturn, row.amount, Book::Transfers);
        if row.fee > 0 && !mutants::is(Mutant::ReturnedFeeKept) {
            self.give_back(tx, EntryKind::TransferFeeReturn, row.fee, Book::Fees);
        }
        events::record(tx, row.account_id, self.now, step.emits, &Transfer::from(row))?;
        crash_points::point("transfer_return", "outcome.before");
        Ok(Some(WorkResult::Event(EventType::TransferFailed)))
    }

    /// Returns the money. It was taken from the available balance, so it is available again today.
    fn give_back(&self, tx: &Tx, kind: EntryKind, amount: i64, from: Book) {
        let entry = Entry { account: self.seen.account_id, kind, source: self.seen.id.into(), now: self.now };
        ledger::record(tx, &entry, self.now.day(), amount, &[(from, -amount)]);
    }
}
