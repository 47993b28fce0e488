//! Captures or voids an authorised payment in three steps: intent, call, outcome.

use acquirer::{Failure, Fault, FollowUpCall};
use base::crash_points;
use entity::{Timestamp, charge};
use store::Tx;

use super::call::{call_acquirer, call_name, key};
use super::outcome::{self, AttemptResult, PaymentOutcome};
use super::purpose::CardPayment;
use super::recovery;
use super::row::{advance, reload};
use super::state::{ChargeAction, ChargeTransition, EffectiveState, next};
use crate::error::{Error, ErrorCode};
use crate::limits::SETTLE_AFTER;
use crate::services::accounts::faults::{self, FaultPlan};
use crate::services::context::{Caller, Context, Ctx};
use crate::services::due_work::work_time::WorkTime;
use crate::services::payer::TokenUse;

/// A capture or void that is to be made.
pub(in crate::services) struct FollowUp {
    /// The row as it was read.
    pub seen: charge::Model,
    /// The row as the capture or void plans it: the captured amount of an authorisation is recorded with the intent.
    pub planned: charge::Model,
    /// The action: a capture or a void.
    pub action: ChargeAction,
}

impl FollowUp {
    /// Makes one that concerns the whole amount.
    pub fn whole(seen: charge::Model, action: ChargeAction) -> Self {
        Self { planned: seen.clone(), seen, action }
    }
}

/// Captures or voids in the three steps. Returns the time of the outcome and the row afterwards.
///
/// Refusals: the table's, `idempotency_key_in_use`, then the acquirer's, `gateway_error`.
pub(in crate::services) async fn capture_or_void(
    ctx: &Ctx,
    caller: &Caller,
    follow_up: FollowUp,
) -> Result<(Timestamp, charge::Model), Error> {
    let (task, caller) = (ctx.clone(), caller.clone());
    ctx.in_own_task(async move { in_three_steps(&task, caller, follow_up).await }).await
}

async fn in_three_steps(
    ctx: &Context,
    caller: Caller,
    follow_up: FollowUp,
) -> Result<(Timestamp, charge::Model), Error> {
    let action = follow_up.action;
    let time = &WorkTime::on_running_clock(caller.account.clone());
    let (wall, claimed_at) = (ctx.clock.now(), ctx.trusted.latest());
    let intent = RecordIntentUnit { follow_up, caller: caller.clone(), wall, claimed_at };
    let (row, step, faults) = ctx.store.write(intent, async |tx, intent| intent.record(tx).await).await?;
    crash_points::point(call_name(row.state), "intent.after");
    caller.confirm();

    let fault = faults.fault;
    let call = call(&row, action, fault)?;
    let answer = match action {
        ChargeAction::Capture => {
            call_acquirer(ctx, time, &row, faults.with_latency(ctx.acquirer.capture(call))).await
        }
        ChargeAction::Void => {
            call_acquirer(ctx, time, &row, faults.with_latency(ctx.acquirer.void(call))).await
        }
    };
    let result = match answer {
        Ok(()) => AttemptResult::Moved(step),
        Err(Failure::Declined(_) | Failure::GatewayError | Failure::Closed) => AttemptResult::Back,
        // A worker recovers it: completes it if the acquirer did it, or goes back. If the sandbox dropped the answer,
        // it is known to be lost, so recovery starts at once; and with a seed, because the wall clock stands and no lease ends.
        Err(Failure::NoAnswer) => {
            if fault == Some(Fault::AnswerLost) || ctx.random.is_seeded() {
                recovery::recover(ctx, time, row.clone()).await?;
            }
            return Err(Error::from(ErrorCode::GatewayError).about(&row));
        }
    };

    let outcome = PaymentOutcome::new(ctx, time, row, TokenUse::Inline, result);
    let (now, row) = outcome::commit_outcome(ctx, time, outcome, CardPayment).await?;
    if row.state == step.to { Ok((now, row)) } else { Err(Error::from(ErrorCode::GatewayError).about(&row)) }
}

struct RecordIntentUnit {
    follow_up: FollowUp,
    caller: Caller,
    wall: Timestamp,
    claimed_at: Timestamp,
}

impl RecordIntentUnit {
    /// Moves the charge into its state in flight, or refuses by its current state.
    async fn record(&self, tx: &Tx) -> Result<(charge::Model, ChargeTransition, FaultPlan), Error> {
        let FollowUp { seen, planned, action } = &self.follow_up;
        let Caller { account, claim, .. } = &self.caller;
        let refusal = |code: ErrorCode| Error::from(code).about(seen);
        let step = next(EffectiveState::at(account.now, seen), *action).map_err(refusal)?;
        self.caller.require_and_claim(tx, self.claimed_at).await?;
        let mut row = planned.clone();
        row.state = step.through;
        row.attempt = seen.attempt + 1;
        row.settle_after = Some(self.wall + SETTLE_AFTER);
        row.claim = claim.as_ref().map(|claim| claim.hash().to_vec());
        // The call's key has the number of its attempt: a later try is another call.
        row.call = row.attempt;
        if advance(tx, seen, &row).await? {
            let faults = faults::draw(tx, account).await?;
            crash_points::point(call_name(row.state), "intent.before");
            return Ok((row, step, faults));
        }
        let found = reload(tx, seen).await?;
        match next(EffectiveState::at(account.now, &found), *action) {
            Err(code) => Err(refusal(code)),
            // The charge is authorised again: the concurrent request's call failed, and so does this one.
            Ok(_) => Err(refusal(ErrorCode::GatewayError)),
        }
    }
}

/// Returns the call in flight.
fn call(row: &charge::Model, action: ChargeAction, fault: Option<Fault>) -> Result<FollowUpCall, Error> {
    let reference = row.acquirer_reference.clone();
    let reference =
        reference.ok_or_else(|| Error::internal("an authorised charge without the acquirer's reference"))?;
    let amount = match action {
        ChargeAction::Capture => row.amount_captured.unwrap_or(row.amount),
        ChargeAction::Void => row.amount,
    };
    Ok(FollowUpCall { key: key(row, action), reference, amount, currency: row.currency, fault })
}
