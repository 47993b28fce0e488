//! Settlement: on each day of its schedule, an account receives everything that has become available and was not paid
//! out before, in one transfer to its own bank account (`docs/decisions.md`, 205 and 206).

use base::crash_points;
use entity::account::{self, Column};
use entity::event::EventType;
use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::transfer::{self, TransferKind};
use entity::{AccountToken, Timestamp, TransferToken};
use sea_orm::Select;
use store::Tx;

use super::accounts::access::{Access, access};
use super::accounts::settings;
use super::context::{Account, Context};
use super::due_work::clocks;
use super::due_work::work_time::WorkTime;
use super::due_work::{DueRow, DueWork, WorkResult};
use super::ledger::lines::{self, PaidLines, SettlementLines};
use super::ledger::{self, BalanceTooLow, Entry, FundsSource};
use super::{bank_accounts, search_text, transfers};
use crate::config::Environment;
use crate::error::Error;

/// The description of a settlement's transfer.
const DESCRIPTION: &str = "Settlement";

/// Settles the accounts whose day of settlement has come.
pub struct SettlementWork;

impl DueWork for SettlementWork {
    type Entity = account::Entity;
    const NAME: &'static str = "settlement";
    const IS_FINAL: bool = true;
    const AT: Column = Column::SettlesAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<account::Entity>> {
        clocks::accounts(Column::SettlesAt, wall).into()
    }

    fn subject(row: &account::Model) -> DueRow {
        let at = row.settles_at.unwrap_or(row.created_at);
        DueRow::new(row.id, at, row.id)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: account::Model) -> Result<WorkResult, Error> {
        let Some(due) = row.settles_at else { return Ok(WorkResult::Skipped) };
        let (environment, id) = (ctx.environment, ctx.ids.token());
        let unit = SettleDayUnit { environment, account: row.id, due, id, now: time.now(ctx) };
        let result = time.write(ctx, unit, async |tx, unit| unit.record(tx).await).await;
        crash_points::point("settlement", "outcome.after");
        result.map(WorkResult::from)
    }
}

/// One day's settlement of an account, and its possible transfer.
struct SettleDayUnit {
    environment: Environment,
    account: AccountToken,
    due: Timestamp,
    id: TransferToken,
    now: Timestamp,
}

impl SettleDayUnit {
    /// Settles the day. If two workers try, one waits for the lock on the account's row, and then finds the next day
    /// there.
    async fn record(&self, tx: &Tx) -> Result<Option<WorkResult>, Error> {
        // A line that another unit has appended would be missing in the sum, and its amount in the balance.
        tx.require_unbuffered()?;
        let row = settings::lock_account(tx, self.account).await?;
        if row.settles_at != Some(self.due) {
            return Ok(None);
        }
        let settled =
            account::Model { settles_at: row.transfers_schedule.next_after(self.due), ..row.clone() };
        tx.update(&row, &settled).await?;
        let mut account = Account::new(row, self.now);
        account.now = self.now;
        tx.disable_timeouts().await?;
        let paid = self.pay(tx, &account).await?;
        crash_points::point("settlement", "outcome.before");
        Ok(Some(if paid { WorkResult::Event(EventType::TransferCreated) } else { WorkResult::Skipped }))
    }

    /// Pays out the waiting lines if the account may pay out and the balance covers them; otherwise they keep waiting.
    async fn pay(&self, tx: &Tx, account: &Account) -> Result<bool, Error> {
        let settings = account.settings();
        let may_pay = settings.transfers_enabled && access(self.environment, settings.status) == Access::Full;
        let Some(own) = settings.bank_account_id.filter(|_| may_pay) else {
            return Ok(false);
        };
        let Some(paid) = self.payable(tx).await? else { return Ok(false) };
        let claimed = lines::claim(tx, self.account, paid, self.id).await?;
        if !self.can_pay(tx, claimed).await? {
            return self.release(tx).await;
        }
        let entry = Entry {
            account: self.account,
            kind: EntryKind::Settlement,
            source: self.id.into(),
            now: self.now,
        };
        let taken =
            ledger::debit(tx, &entry, FundsSource::Available, claimed.amount(), Book::Transfers).await?;
        if taken == Err(BalanceTooLow) {
            return self.release(tx).await;
        }
        let own = bank_accounts::load(tx, self.account, own).await?;
        let own = own.ok_or_else(|| Error::internal("an account without its bank account"))?;
        transfers::record(
            tx,
            transfer::Model {
                description: DESCRIPTION.into(),
                search_text: search_text::stored_text([DESCRIPTION]),
                total_credits: claimed.credits,
                total_debits: claimed.debits,
                line_items_count: claimed.count,
                ..transfers::transfer_row(
                    self.environment,
                    account,
                    self.id,
                    (TransferKind::Settlement, claimed.amount()),
                    own,
                )?
            },
        )?;
        Ok(true)
    }

    /// Returns the lines that can be paid out. Debits of later days are looked for, among many credits, only if the day's own lines come to
    /// more than is available, which they lower: by a clock that was ahead, or after a midnight that the settlement is late for. Without
    /// them no settlement would be made until their day.
    async fn payable(&self, tx: &Tx) -> Result<Option<PaidLines>, Error> {
        let day = self.due.day();
        let own = lines::waiting(tx, self.account, PaidLines::Of(day)).await?;
        if own.amount() <= 0 {
            return Ok(None);
        }
        if self.can_pay(tx, own).await? {
            return Ok(Some(PaidLines::Of(day)));
        }
        let all = PaidLines::WithLaterDebits(day);
        Ok(self.can_pay(tx, lines::waiting(tx, self.account, all).await?).await?.then_some(all))
    }

    /// Releases the lines: a change since the first check, such as a chargeback, makes them unpayable.
    async fn release(&self, tx: &Tx) -> Result<bool, Error> {
        lines::release(tx, self.account, self.id).await?;
        Ok(false)
    }

    async fn can_pay(&self, tx: &Tx, lines: SettlementLines) -> Result<bool, Error> {
        let amount = lines.amount();
        Ok(amount > 0 && ledger::covers(tx, self.account, self.now, FundsSource::Available, amount).await?)
    }
}
