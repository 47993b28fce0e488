//! Submits refunds to the acquirer until it accepts or declines them (`docs/decisions.md`, 169).

use acquirer::{CallKey, Failure, Fault, FollowUpCall, RefundAnswer};
use base::crash_points;
use base::mutants::{self, Mutant};
use entity::event::EventType;
use entity::refund::{self, COLUMN, Column, RefundOutcome, RefundState};
use entity::{Listed, Owned, Timestamp, charge};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter, QueryOrder, Select};
use store::Tx;

use super::complete::{lock_refund, record_outcome};
use super::state::{RefundAction, next};
use crate::error::Error;
use crate::limits::REFUND_SETTLES_AFTER;
use crate::services::accounts::faults::{self, FaultPlan};
use crate::services::accounts::wipe::deleted;
use crate::services::context::{Account, Context};
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{ClockMoveRange, DueRow, DueWork, WorkResult, leased_until, pause};
use crate::services::payments::call::timed_call;

/// Submits refunds that the acquirer has not answered.
pub struct RefundSubmissionWork;

impl DueWork for RefundSubmissionWork {
    type Entity = refund::Entity;
    const NAME: &'static str = "unsubmitted_refund";
    const AT: Column = Column::CreatedAt;
    const ID: Column = Column::Id;

    /// Uses the wall clock, as all calls to the acquirer do.
    fn due(wall: Timestamp) -> Vec<Select<refund::Entity>> {
        let waiting = refund::Entity::find()
            .filter(Column::State.eq(RefundState::Submitting))
            .filter(COLUMN.submit_after.lte(wall))
            .order_by_asc(Column::SubmitAfter);
        vec![waiting]
    }

    /// A refund is due when it is created, so no clock moves past that time before the acquirer has been asked.
    fn of_account(range: &ClockMoveRange) -> Select<refund::Entity> {
        let waiting = refund::Entity::owned_by(range.account).filter(Column::SubmitAfter.is_not_null());
        let Some((at, id)) = range.passed else { return waiting };
        let later = Condition::all().add(Column::CreatedAt.eq(at)).add(Column::Id.gt(id));
        waiting.filter(Condition::any().add(COLUMN.created_at.gt(at)).add(later))
    }

    fn subject(row: &refund::Model) -> DueRow {
        let claimed = row.submit_after.filter(|_| row.is_in_flight());
        let held_until = claimed.map(|next_try| leased_until(next_try, pause(row.attempt / 2)));
        DueRow {
            account: row.account_id,
            at: row.created_at,
            token: row.id.to_string(),
            leased_until: held_until,
        }
    }

    async fn work(ctx: &Context, time: &WorkTime, row: refund::Model) -> Result<WorkResult, Error> {
        submit(ctx, time, row).await
    }
}

pub async fn submit(ctx: &Context, time: &WorkTime, seen: refund::Model) -> Result<WorkResult, Error> {
    let claim = ClaimSubmissionUnit {
        // The pause depends on the number of attempts so far, finished or not.
        submit_after: ctx.clock.now() + pause((seen.attempt + 1) / 2),
        seen,
        account: time.account().clone(),
    };
    let Some((refund, fault_plan)) = time.write(ctx, claim, async |tx, claim| claim.record(tx).await).await?
    else {
        return Ok(WorkResult::Skipped);
    };
    crash_points::point("refund", "claim.after");
    let call = call(ctx, &refund, fault_plan.fault).await?;
    crash_points::point("refund", "call.before");
    // No fault latency while a clock is being moved.
    let fault_plan = if time.is_on_running_clock() { fault_plan } else { fault_plan.at_once() };
    let answer = timed_call(ctx, time, "refund", fault_plan.with_latency(ctx.acquirer.refund(call))).await;
    crash_points::point("refund", "call.after");
    let answer = match answer {
        Ok(answer) => SubmissionAnswer::Accepted(match answer {
            RefundAnswer::Succeeds => RefundOutcome::Succeeded,
            RefundAnswer::Fails => RefundOutcome::Failed,
        }),
        Err(Failure::Declined(_)) => SubmissionAnswer::Declined,
        // The next attempt repeats the call under the same key once the claim has expired.
        Err(Failure::NoAnswer | Failure::GatewayError | Failure::Closed) => {
            return release(ctx, refund).await;
        }
    };
    let answered = RecordSubmissionUnit { refund, answer, now: time.now(ctx) };
    let result = ctx.store.write(answered, async |tx, answered| answered.record(tx).await).await?;
    crash_points::point("refund", "outcome.after");
    Ok(result)
}

/// Marks an attempt that ended without an answer as over: the refund is no longer in flight, unless a later attempt has
/// claimed it.
async fn release(ctx: &Context, refund: refund::Model) -> Result<WorkResult, Error> {
    let id = refund.id;
    let unit = ctx.store.write(refund, async |tx, refund| {
        let ended = refund::Model { attempt: refund.attempt + 1, ..refund.clone() };
        Ok(tx.compare_and_swap(refund, &ended, &[Column::State, Column::Attempt]).await.map(drop)?)
    });
    unit.await?;
    Ok(WorkResult::Unsubmitted(id))
}

/// Makes every refund that waits for its next attempt due now. Only for a server that knows it is the only one.
pub async fn make_due_now(ctx: &Context) -> Result<u64, Error> {
    let now = ctx.clock.now();
    let waiting = refund::Entity::update_many()
        .filter(COLUMN.submit_after.gt(now))
        .col_expr(Column::SubmitAfter, Expr::value(now.millis()));
    ctx.update(waiting).await
}

/// Claims the next attempt, before the call.
struct ClaimSubmissionUnit {
    seen: refund::Model,
    submit_after: Timestamp,
    account: Account,
}

impl ClaimSubmissionUnit {
    async fn record(&self, tx: &Tx) -> Result<Option<(refund::Model, FaultPlan)>, Error> {
        let mut row = self.seen.clone();
        // A killed attempt never recorded its end.
        row.attempt += if row.is_in_flight() { 2 } else { 1 };
        row.submit_after = Some(self.submit_after);
        if !tx.compare_and_swap(&self.seen, &row, &[Column::State, Column::Attempt]).await? {
            return Ok(None);
        }
        let fault_plan = faults::draw(tx, &self.account).await?;
        crash_points::point("refund", "claim.before");
        Ok(Some((row, fault_plan)))
    }
}

/// Returns the call, the same for every attempt: the acquirer acts once, even if its answers are lost.
async fn call(ctx: &Context, refund: &refund::Model, fault: Option<Fault>) -> Result<FollowUpCall, Error> {
    let charge = charge::Entity::at(refund.account_id, refund.charge_id).one(ctx.store.read()).await?;
    let reference = charge.ok_or_else(deleted)?.acquirer_reference;
    let reference =
        reference.ok_or_else(|| Error::internal("a refunded charge without the acquirer's reference"))?;
    let key = if mutants::is(Mutant::RefundUnderNewKey) {
        CallKey::new(refund.id, &format!("refund:{}", refund.attempt))
    } else {
        CallKey::new(refund.id, "refund")
    };
    Ok(FollowUpCall { key, reference, amount: refund.amount, currency: refund.currency, fault })
}

/// The acquirer's answer to a submission.
enum SubmissionAnswer {
    /// Accepted, with the announced outcome.
    Accepted(RefundOutcome),
    /// The acquirer refused it.
    Declined,
}

/// Records the acquirer's answer to an attempt.
struct RecordSubmissionUnit {
    refund: refund::Model,
    answer: SubmissionAnswer,
    now: Timestamp,
}

impl RecordSubmissionUnit {
    /// Skips an answer that comes after the next attempt was claimed, or after the outcome was decided.
    async fn record(&self, tx: &Tx) -> Result<WorkResult, Error> {
        let seen = lock_refund(tx, &self.refund).await?;
        if seen.attempt != self.refund.attempt {
            return Ok(WorkResult::Skipped);
        }
        match self.answer {
            SubmissionAnswer::Declined => {
                Ok(match record_outcome(tx, seen, RefundOutcome::Failed, self.now).await? {
                    Some(_) => WorkResult::Event(EventType::RefundFailed),
                    None => WorkResult::Skipped,
                })
            }
            SubmissionAnswer::Accepted(announced) => {
                let Some(step) = next(seen.state, RefundAction::Accept) else {
                    return Ok(WorkResult::Skipped);
                };
                let mut row = seen.clone();
                row.state = step.to;
                row.submit_after = None;
                row.announced = Some(announced);
                row.settles_at = Some(row.created_at + REFUND_SETTLES_AFTER);
                tx.update(&seen, &row).await?;
                crash_points::point("refund", "outcome.before");
                Ok(WorkResult::Silent)
            }
        }
    }
}
