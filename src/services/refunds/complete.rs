//! Completes refunds: the cardholder receives the money, or it comes back (`docs/decisions.md`, 167).

use base::mutants::{self, Mutant};
use entity::event::EventType;
use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::refund::{self, Column, RefundOutcome, RefundState};
use entity::{Listed, Timestamp, charge};
use sea_orm::sea_query::{Expr, ExprTrait, LockType};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect, Select};
use store::Tx;

use super::state::next;
use crate::error::{Error, ErrorCode};
use crate::services::accounts::wipe::deleted;
use crate::services::context::{Caller, Context};
use crate::services::due_work::clocks;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{DueRow, DueWork, WorkResult};
use crate::services::ledger::{self, Entry};
use crate::services::refunds::view::Refund;
use crate::services::{events, idempotency};

/// Completes accepted refunds with the outcome that the acquirer announced.
pub struct RefundCompletionWork;

impl DueWork for RefundCompletionWork {
    type Entity = refund::Entity;
    const NAME: &'static str = "settling_refund";
    // Null in every other state.
    const AT: Column = Column::SettlesAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<refund::Entity>> {
        let accepted = refund::Entity::find().filter(Column::State.eq(RefundState::Accepted));
        clocks::due(&accepted, Column::SettlesAt, wall).into()
    }

    fn subject(row: &refund::Model) -> DueRow {
        let at = row.settles_at.unwrap_or(row.created_at);
        DueRow::new(row.account_id, at, row.id)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: refund::Model) -> Result<WorkResult, Error> {
        let outcome =
            row.announced.ok_or_else(|| Error::internal("an accepted refund without its outcome"))?;
        Ok(match (complete(ctx, time, row, outcome).await?, outcome) {
            (Some(_), RefundOutcome::Succeeded) => WorkResult::Event(EventType::RefundSucceeded),
            (Some(_), RefundOutcome::Failed) => WorkResult::Event(EventType::RefundFailed),
            (None, _) => WorkResult::Skipped,
        })
    }
}

/// Completes a pending refund, whether or not the acquirer has been asked. Returns `None` if it had already ended.
pub async fn complete(
    ctx: &Context,
    time: &WorkTime,
    refund: refund::Model,
    outcome: RefundOutcome,
) -> Result<Option<Refund>, Error> {
    let ending = EndRefundUnit { refund, outcome, now: time.now(ctx) };
    time.write(ctx, ending, async |tx, ending| ending.record(tx).await).await
}

/// Completes a pending refund on request, whether or not the acquirer has been asked.
///
/// Refusals: `invalid_state`.
pub async fn decide(
    ctx: &Context,
    caller: &Caller,
    refund: refund::Model,
    outcome: RefundOutcome,
) -> Result<Refund, Error> {
    let ending = EndRefundUnit { refund, outcome, now: caller.account.now };
    let unit = idempotency::write(ctx, caller, ending, async |tx, ending| {
        ending.record(tx).await?.ok_or_else(|| ErrorCode::InvalidState.into())
    });
    unit.await
}

struct EndRefundUnit {
    refund: refund::Model,
    outcome: RefundOutcome,
    now: Timestamp,
}

impl EndRefundUnit {
    /// Returns `None` if the refund had already ended.
    async fn record(&self, tx: &Tx) -> Result<Option<Refund>, Error> {
        let refund = lock_refund(tx, &self.refund).await?;
        record_outcome(tx, refund, self.outcome, self.now).await
    }
}

/// Locks a refund until the commit and returns its current row.
pub(super) async fn lock_refund(tx: &Tx, seen: &refund::Model) -> Result<refund::Model, Error> {
    let refund = refund::Entity::at(seen.account_id, seen.id);
    let refund = refund.lock(LockType::NoKeyUpdate).one(tx).await?;
    refund.ok_or_else(deleted)
}

/// Records the outcome of a locked refund and its event, and returns the money of a failed one.
pub(super) async fn record_outcome(
    tx: &Tx,
    seen: refund::Model,
    outcome: RefundOutcome,
    now: Timestamp,
) -> Result<Option<Refund>, Error> {
    let Some(step) = next(seen.state, outcome.into()) else { return Ok(None) };
    let row = refund::Model { state: step.to, submit_after: None, settles_at: None, ..seen.clone() };
    tx.update(&seen, &row).await?;
    update_charge(tx, &row).await?;
    if row.state == RefundState::Failed {
        return_amount(tx, &row, now);
    }
    let account = row.account_id;
    let refund = Refund::from(row);
    if let Some(event) = step.emits {
        events::record(tx, account, now, event, &refund)?;
    }
    Ok(Some(refund))
}

/// Decrements the charge's pending refunds; an amount that came back can be refunded again.
async fn update_charge(tx: &Tx, refund: &refund::Model) -> Result<(), Error> {
    use charge::Column;

    let mut update = charge::Entity::update_at(refund.account_id, refund.charge_id)
        .col_expr(Column::RefundsPending, Expr::col(Column::RefundsPending).sub(1));
    if refund.state == RefundState::Failed && !mutants::is(Mutant::FailedRefundStaysCounted) {
        let less = |column: Column, amount: i64| Expr::col(column).sub(amount);
        update = update
            .col_expr(Column::AmountRefunded, less(Column::AmountRefunded, refund.amount))
            .col_expr(Column::SettlementRefunded, less(Column::SettlementRefunded, refund.settlement_amount));
    }
    update.exec(tx).await?;
    Ok(())
}

/// Returns the money. It was taken from the available balance, so it is available again today.
fn return_amount(tx: &Tx, refund: &refund::Model, now: Timestamp) {
    let entry =
        Entry { account: refund.account_id, kind: EntryKind::RefundReturn, source: refund.id.into(), now };
    let amount = refund.settlement_amount;
    ledger::record(tx, &entry, now.day(), amount, &[(Book::Refunds, -amount)]);
}
