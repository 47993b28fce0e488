//! Recovers calls with an unknown outcome: the acquirer did not answer, or the process died (`docs/decisions.md`, 134,
//! 135 and 146). A creation reported to the client as not charged is reversed; a capture or void that the acquirer did
//! is completed, one that it did not goes back.

use acquirer::Settled;
use base::mutants::{self, Mutant};
use entity::charge::{self, COLUMN, ChargeState, Column};
use entity::{FailureCode, Listed, Owned, Timestamp};
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter, QueryOrder, Select};

use super::call::{creation_key, key, within_time};
use super::outcome::{self, AttemptResult, PaymentOutcome};
use super::purpose::{CardPayment, LostAnswer, bills, rules};
use super::row::advance;
use super::state::{ChargeAction, EffectiveState, next};
use crate::error::Error;
use crate::limits::SETTLE_AFTER;
use crate::services::context::Context;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{ClockMoveRange, DueRow, DueWork, WorkResult, leased_until, pause};
use crate::services::payer::TokenUse;

/// Returns the result of a creation that certainly moved no money: the token is free again.
pub(super) fn nothing_charged() -> AttemptResult {
    AttemptResult::Failed { failure: FailureCode::GatewayError, spent: false }
}

/// Recovers a creation with an unknown outcome: closes its key and reverses the payment or lets it stand. `None` if the
/// acquirer does not answer.
pub(in crate::services) async fn creation(
    ctx: &Context,
    time: &WorkTime,
    row: &charge::Model,
) -> Option<AttemptResult> {
    let key = creation_key(row);
    let lost_answer = if mutants::is(Mutant::LostAnswerStands) {
        LostAnswer::Stands
    } else {
        rules(row.origin).lost_answer
    };
    match lost_answer {
        LostAnswer::Reversed => {
            let settled = within_time(ctx, time, ctx.acquirer.reverse(&key)).await;
            settled.ok().map(|_| nothing_charged())
        }
        LostAnswer::Stands => match within_time(ctx, time, ctx.acquirer.settle(&key)).await.ok()? {
            Settled::Done { reference } => Some(AttemptResult::Approved { reference }),
            Settled::NotDone => {
                Some(AttemptResult::Failed { failure: FailureCode::ProcessingError, spent: true })
            }
        },
    }
}

/// Recovers calls with an unknown outcome; a subscription's are recovered with the subscription.
pub struct ChargeRecoveryWork;

impl DueWork for ChargeRecoveryWork {
    type Entity = charge::Entity;
    const NAME: &'static str = "unsettled_charge";
    const AT: Column = Column::CreatedAt;
    const ID: Column = Column::Id;

    /// Selects calls in flight that no process can be making any more, by the wall clock: they do not depend on the
    /// account's clock.
    fn due(wall: Timestamp) -> Vec<Select<charge::Entity>> {
        vec![select_lost(wall, is_not_renewal())]
    }

    fn of_account(range: &ClockMoveRange) -> Select<charge::Entity> {
        in_flight(range, is_not_renewal(), Condition::any())
    }

    fn subject(row: &charge::Model) -> DueRow {
        due_row(row)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: charge::Model) -> Result<WorkResult, Error> {
        recover(ctx, time, row).await
    }
}

/// Selects, of some charges, those in flight whose call no process can be making any more.
pub(in crate::services) fn select_lost(wall: Timestamp, some: SimpleExpr) -> Select<charge::Entity> {
    charge::Entity::find()
        .filter(COLUMN.settle_after.lte(wall))
        .filter(some)
        .order_by_asc(Column::SettleAfter)
}

/// Selects, of some of an account's charges, those that were in flight when its clock began to move, and all `others`.
/// A call that begins during the move keeps its own instant.
pub(in crate::services) fn in_flight(
    range: &ClockMoveRange,
    some: SimpleExpr,
    others: Condition,
) -> Select<charge::Entity> {
    let before = COLUMN.settle_after.lte(range.began + SETTLE_AFTER);
    let taken_up = Expr::col(Column::Attempt).gt(Expr::col(Column::Call));
    charge::Entity::owned_by(range.account)
        .filter(Column::SettleAfter.is_not_null())
        .filter(some)
        .filter(others.add(before).add(taken_up))
}

/// Describes a charge in flight as due work. It is not due while a process may still be making its call.
pub(in crate::services) fn due_row(row: &charge::Model) -> DueRow {
    let tries = row.attempt - row.call;
    let held = |next| if tries > 0 { leased_until(next, pause(tries - 1)) } else { next };
    DueRow {
        account: row.account_id,
        at: row.created_at,
        token: row.token(),
        leased_until: row.settle_after.map(held),
    }
}

fn is_not_renewal() -> SimpleExpr {
    Column::Origin.is_not_in(bills())
}

/// Makes every call in flight due now, for a server that is known to be the only one.
pub async fn make_due_now(ctx: &Context) -> Result<u64, Error> {
    let now = ctx.clock.now();
    let in_flight = charge::Entity::update_many()
        .filter(COLUMN.settle_after.gt(now))
        .col_expr(Column::SettleAfter, Expr::value(now.millis()));
    ctx.update(in_flight).await
}

/// Recovers the call in flight of a charge that is due.
pub(super) async fn recover(
    ctx: &Context,
    time: &WorkTime,
    seen: charge::Model,
) -> Result<WorkResult, Error> {
    let Some(row) = claim(ctx, time, seen).await? else { return Ok(WorkResult::Skipped) };
    let result = match row.state {
        ChargeState::Processing => creation(ctx, time, &row).await,
        ChargeState::Capturing => recover_follow_up(ctx, time, &row, ChargeAction::Capture).await?,
        ChargeState::Voiding => recover_follow_up(ctx, time, &row, ChargeAction::Void).await?,
        ChargeState::Pending
        | ChargeState::Authorised
        | ChargeState::Captured
        | ChargeState::Voided
        | ChargeState::Failed => return Ok(WorkResult::Skipped),
    };
    let Some(result) = result else { return Ok(WorkResult::Unanswered) };
    let token = single_use(ctx, &row).await?;
    let work_result = result.emits(row.capture).map_or(WorkResult::Silent, WorkResult::Event);
    let outcome = PaymentOutcome::new(ctx, time, row, token, result);
    outcome::commit_outcome(ctx, time, outcome, CardPayment).await?;
    Ok(work_result)
}

/// Claims a call in flight to recover it. The higher attempt number fences off the caller: from here on only this
/// worker records the outcome.
pub(in crate::services) async fn claim(
    ctx: &Context,
    time: &WorkTime,
    seen: charge::Model,
) -> Result<Option<charge::Model>, Error> {
    let settle_after = ctx.clock.now() + pause(seen.attempt - seen.call);
    let claim = ClaimRecoveryUnit { seen, settle_after };
    time.write(ctx, claim, async |tx, claim| claim.record(tx).await).await
}

struct ClaimRecoveryUnit {
    seen: charge::Model,
    settle_after: Timestamp,
}

impl ClaimRecoveryUnit {
    async fn record(&self, tx: &store::Tx) -> Result<Option<charge::Model>, Error> {
        let mut row = self.seen.clone();
        row.attempt += i32::from(!mutants::is(Mutant::RecoveryWithoutAttempt));
        row.settle_after = Some(self.settle_after);
        if !advance(tx, &self.seen, &row).await? {
            return Ok(None);
        }
        Ok(Some(row))
    }
}

async fn recover_follow_up(
    ctx: &Context,
    time: &WorkTime,
    row: &charge::Model,
    action: ChargeAction,
) -> Result<Option<AttemptResult>, Error> {
    let Ok(settled) = within_time(ctx, time, ctx.acquirer.settle(&key(row, action))).await else {
        return Ok(None);
    };
    Ok(Some(match settled {
        Settled::NotDone => AttemptResult::Back,
        Settled::Done { .. } => {
            let step = next(EffectiveState::Stored(ChargeState::Authorised), action);
            AttemptResult::Moved(
                step.map_err(|_| Error::internal("the table does not know a move in flight"))?,
            )
        }
    }))
}

/// Returns whether the attempt holds a single-use token: an inline card's is spent from the start, a customer's card is
/// never held.
pub(in crate::services) async fn single_use(ctx: &Context, row: &charge::Model) -> Result<TokenUse, Error> {
    let card = entity::card::Entity::at(row.account_id, row.card_id).one(ctx.store.read()).await?;
    Ok(match card {
        Some(card) if card.state == entity::card::CardState::Reserved => TokenUse::Single(card.id),
        _ => TokenUse::Inline,
    })
}
