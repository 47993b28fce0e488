//! The billing run: bills intervals when they are due, one after the other, each once. A bill reserves its subscription by
//! the attempt number, so of any number of workers one makes the charge.

use acquirer::NoAnswer;
use base::mutants::{self, Mutant};
use entity::charge::Origin;
use entity::event::EventType;
use entity::subscription::{self, Column};
use entity::{ChargeToken, Listed, Owned, Timestamp, card, charge, customer, plan};
use sea_orm::sea_query::SelectStatement;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect, QueryTrait, Select};
use store::Tx;

use super::course::{Bill, next_interval};
use super::create::order;
use super::record_outcome::{BillPayment, BillingOutcome, record_failed_renewal};
use super::rows::{lock_subscription, put};
use super::state::{SubscriptionAction, next};
use crate::error::{Error, ErrorCode};
use crate::services::context::{Caller, Context};
use crate::services::due_work::clocks;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{ClockMoveRange, DueRow, DueWork, WorkResult};
use crate::services::payer::TokenUse;
use crate::services::payments::creation::{
    NewPayment, PaymentIntent, PaymentProgress, make_payment, record_row,
};
use crate::services::payments::order::{ChargeIntent, ChargeOrder};
use crate::services::{cards, customers};

/// Bills the next interval of subscriptions: at the end of a trial, of an interval, or of the pause after a failed bill.
pub struct BillingWork;

impl DueWork for BillingWork {
    type Entity = subscription::Entity;
    const NAME: &'static str = "due_renewal";
    const IS_FINAL: bool = true;
    const AT: Column = Column::NextBillingAt;
    const ID: Column = Column::Id;

    fn due(wall: Timestamp) -> Vec<Select<subscription::Entity>> {
        let mut idle = subscription::Entity::find();
        if !mutants::is(Mutant::BilledInFlight) {
            idle = idle.filter(Column::ChargeId.is_null());
        }
        clocks::due(&idle, Column::NextBillingAt, wall).into()
    }

    /// Leaves out subscriptions with a charge in flight: the move of the clock waits for that charge.
    fn of_account(range: &ClockMoveRange) -> Select<subscription::Entity> {
        subscription::Entity::owned_by(range.account).filter(Column::ChargeId.is_null())
    }

    fn subject(row: &subscription::Model) -> DueRow {
        let at = row.next_billing_at.unwrap_or(row.created_at);
        DueRow::new(row.account_id, at, row.id)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: subscription::Model) -> Result<WorkResult, Error> {
        let Some((plan, customer, card)) = find_parties(ctx, time, &row).await? else {
            // Cancelled, with its customer or before its plan.
            return Ok(WorkResult::Skipped);
        };
        let bill = Bill::next(&row, &plan);
        if bill.sum() == 0 {
            let free = (row, plan, time.now(ctx));
            let unit = time.write(ctx, free, async |tx, (seen, plan, now)| {
                renew_free_of_charge(tx, seen, plan, *now).await
            });
            return unit.await.map(WorkResult::from);
        }
        let rate = match ctx.acquirer.rate(plan.currency).await {
            Ok(rate) => rate,
            // A worker rests before it asks again.
            Err(NoAnswer) if time.is_on_running_clock() => return Err(ErrorCode::ServiceUnavailable.into()),
            Err(NoAnswer) => return Ok(WorkResult::Unanswered),
        };
        let Some(rate) = rate else {
            let unit = time.write(ctx, (row, time.now(ctx)), async |tx, (seen, now)| {
                refuse_renewal(tx, seen, *now).await
            });
            return unit.await.map(WorkResult::from);
        };
        let order =
            order(ctx, time.account(), Origin::Renewal, (&bill, rate), (&plan, customer, card)).await?;
        let ChargeOrder { intent, call } = order.named(renewal_token(ctx, &row, &bill));
        let intent = RenewalIntent { seen: row, charge: intent };
        // A customer's card is never spent.
        let (token, purpose) = (TokenUse::Inline, BillPayment { claim: None });
        let payment = NewPayment { intent, token, call, purpose, claim: None };
        match make_payment(ctx, time, payment).await? {
            PaymentProgress::Skipped => Ok(WorkResult::Skipped),
            // A worker recovers it, and the charge stands if the acquirer made it.
            PaymentProgress::Unanswered(_) => Ok(WorkResult::Unanswered),
            PaymentProgress::Recorded(outcome) => work_result(&outcome),
        }
    }
}

/// Returns the caller at the time by which subscriptions are billed: one that begins while a clock is doubted is due by the same time.
pub(super) fn at_billing_time(ctx: &Context, caller: &Caller) -> Caller {
    let mut caller = caller.clone();
    let now = caller.account.now_by(BillingWork::wall(ctx));
    caller.account.now = caller.account.now.min(now);
    caller
}

/// Returns the token of the charge that pays a bill (`docs/decisions.md`, 479). Attempts never have the same number.
fn renewal_token(ctx: &Context, row: &subscription::Model, bill: &Bill) -> ChargeToken {
    ctx.token_of_due(row.finishes_at, &format!("renewal {} {} {}", row.id, bill.number, row.attempt + 1))
}

/// Returns what a worker reports of a bill.
pub(super) fn work_result(outcome: &BillingOutcome) -> Result<WorkResult, Error> {
    Ok(match outcome {
        BillingOutcome::Paid(_, event) => event.map_or(WorkResult::Silent, WorkResult::Event),
        BillingOutcome::Unpaid(_, event) => WorkResult::Event(*event),
        BillingOutcome::CustomerGone(_) => {
            return Err(Error::internal("a renewal that asked for its customer"));
        }
    })
}

/// Returns the plan, the customer and the card that pays: the named one, or the one that is primary now.
async fn find_parties(
    ctx: &Context,
    time: &WorkTime,
    row: &subscription::Model,
) -> Result<Option<(plan::Model, customer::Model, card::Model)>, Error> {
    let plan = plan::Entity::at(row.account_id, row.plan_id).one(ctx.store.read()).await?;
    let customer = customers::find::with_primary(ctx, time.account(), row.customer_id).await?;
    let (Some(plan), Some((customer, primary))) = (plan, customer) else { return Ok(None) };
    let named = match row.card_id {
        Some(card) => cards::find(ctx, time.account(), card).await?,
        None => None,
    };
    Ok(Some((plan, customer, named.unwrap_or(primary))))
}

/// Fails a bill that the acquirer cannot take, without a charge: it does not take the plan's currency any more.
async fn refuse_renewal(
    tx: &Tx,
    seen: &subscription::Model,
    now: Timestamp,
) -> Result<Option<WorkResult>, Error> {
    let Some(row) = lock_due(tx, seen).await? else { return Ok(None) };
    record_failed_renewal(tx, &row, now).await?;
    Ok(Some(WorkResult::Event(EventType::SubscriptionRenewalFailed)))
}

/// Begins an interval that costs nothing, without a charge.
async fn renew_free_of_charge(
    tx: &Tx,
    seen: &subscription::Model,
    plan: &plan::Model,
    now: Timestamp,
) -> Result<Option<WorkResult>, Error> {
    let Some(row) = lock_due(tx, seen).await? else { return Ok(None) };
    let step = next(row.state, SubscriptionAction::Renew)?;
    put(tx, &row, next_interval(&row, step, plan), step.emits, now).await?;
    Ok(Some(step.emits.map_or(WorkResult::Silent, WorkResult::Event)))
}

/// Locks a subscription until the commit; `None` if it does not wait for this very bill any more.
async fn lock_due(tx: &Tx, seen: &subscription::Model) -> Result<Option<subscription::Model>, Error> {
    let row = lock_subscription(tx, seen).await?;
    let guards = |row: &subscription::Model| (row.next_billing_at, row.attempt);
    Ok(row.filter(|row| guards(row) == guards(seen)))
}

/// Reserves the subscription in the intent of its charge.
struct RenewalIntent {
    seen: subscription::Model,
    charge: Box<ChargeIntent>,
}

impl RenewalIntent {
    /// Selects the customer while the card that pays is the primary one.
    fn select_payer(&self) -> SelectStatement {
        customer::Entity::at(self.seen.account_id, self.seen.customer_id)
            .filter(customer::Column::PrimaryCardId.eq(self.charge.card.id))
            .select_only()
            .column(customer::Column::Id)
            .into_query()
    }
}

impl PaymentIntent for RenewalIntent {
    /// Records it while the subscription waits for this very bill, and this card pays.
    async fn record(&self, tx: &Tx) -> Result<Option<charge::Model>, Error> {
        // The primary card may have been replaced, and removed, since it was read. A change that commits in the same instant comes after.
        if self.seen.card_id != Some(self.charge.card.id) && !tx.require(&self.select_payer()).await? {
            return Ok(None);
        }
        let mut row = self.seen.clone();
        row.attempt += 1;
        row.charge_id = Some(self.charge.row.id);
        let guards = [Column::Attempt, Column::ChargeId, Column::NextBillingAt, Column::CardId];
        if !tx.compare_and_swap(&self.seen, &row, &guards).await? {
            return Ok(None);
        }
        record_row(tx, &self.charge).await?;
        Ok(Some(self.charge.row.clone()))
    }
}
