//! Capture and void of an authorised charge: intent, call, outcome.

use entity::{Timestamp, charge};
use futures::FutureExt;
use sea_orm::sea_query::Expr;

use super::call::{ask, call_name, key};
use super::find::by_token;
use super::outcome::{self, AttemptResult, compare_with_seen, word};
use super::recover;
use super::state::{ChargeAction, ChargeTransition, EffectiveState, next};
use crate::acquirer::{Failure, Fault, FollowUpCall};
use crate::error::{Error, ErrorCode};
use crate::limits::SETTLE_AFTER;
use crate::params::Params;
use crate::params::charge::Capture;
use crate::runtime::crash_points;
use crate::services::accounts::faults::{self, FaultPlan};
use crate::services::context::{Account, Context, Ctx};
use crate::services::due_work::work_time::WorkTime;
use crate::services::idempotency::claim::IdempotencyClaim;
use crate::services::payer::TokenUse;
use crate::store::Tx;
use crate::views::charge::Charge;

/// Captures an authorised charge for the full authorised amount.
///
/// Refusals, first match wins: `not_found`, `bad_authorisation`, `already_captured`, `already_voided`,
/// `authorisation_expired`, `invalid_capture_amount`; then the acquirer's, `gateway_error`.
pub async fn capture(
    ctx: &Ctx,
    account: &Account,
    token: &str,
    params: Params<Capture>,
) -> Result<Charge, Error> {
    let row = by_token(ctx.store.read(), account, token).await?;
    next(EffectiveState::at(account.now, &row), ChargeAction::Capture)
        .map_err(|code| Error::from(code).about(&row))?;
    let amount = params.value.amount.as_deref().map(str::trim).filter(|amount| !amount.is_empty());
    // Any other value, number or not, is the wrong amount, not a fault of the parameter.
    if params.faults.has("amount") || amount.is_some_and(|amount| amount.parse() != Ok(row.amount)) {
        return Err(Error::from(ErrorCode::InvalidCaptureAmount).about(&row));
    }
    let (now, row) = capture_or_void(ctx, account, row, ChargeAction::Capture).await?;
    Ok(Charge::at(now, row))
}

/// Returns the reserved funds of an authorised charge.
///
/// Refusals, first match wins: `not_found`, `bad_authorisation`, `already_captured`, `already_voided`,
/// `authorisation_expired`; then the acquirer's, `gateway_error`.
pub async fn void(ctx: &Ctx, account: &Account, token: &str) -> Result<Charge, Error> {
    let row = by_token(ctx.store.read(), account, token).await?;
    let (now, row) = capture_or_void(ctx, account, row, ChargeAction::Void).await?;
    Ok(Charge::at(now, row))
}

/// Captures or voids in the three steps. Returns the row afterwards and the time of the outcome. For an authorisation,
/// the captured amount in `row` is recorded with the intent.
///
/// Refusals: the table's, `idempotency_key_in_use`, then the acquirer's, `gateway_error`.
pub(in crate::services) async fn capture_or_void(
    ctx: &Ctx,
    account: &Account,
    row: charge::Model,
    action: ChargeAction,
) -> Result<(Timestamp, charge::Model), Error> {
    let (task, account) = (ctx.clone(), account.clone());
    ctx.in_own_task(async move { in_three_steps(&task, &account, row, action).await }).await
}

async fn in_three_steps(
    ctx: &Context,
    account: &Account,
    row: charge::Model,
    action: ChargeAction,
) -> Result<(Timestamp, charge::Model), Error> {
    let intent = CaptureOrVoidIntent { row, account: account.clone(), action, wall: ctx.clock.now() };
    let (row, step, fares) = ctx.store.write(intent, |tx, intent| record_intent(tx, intent).boxed()).await?;
    crash_points::point(call_name(row.state), "intent.after");
    account.claim().into_iter().for_each(IdempotencyClaim::hold);

    let moment = WorkTime::on_running_clock(account.clone());
    let fault = fares.fault();
    let call = call(&row, action, fault)?;
    let answer = match action {
        ChargeAction::Capture => {
            ask(ctx, &moment, &row, fares.with_latency(ctx.acquirer.capture(call))).await
        }
        ChargeAction::Void => ask(ctx, &moment, &row, fares.with_latency(ctx.acquirer.void(call))).await,
    };
    let verdict = match answer {
        Ok(()) => AttemptResult::Moved(step),
        Err(Failure::Declined(_) | Failure::GatewayError | Failure::Closed) => AttemptResult::Back,
        // A worker recovers it: completes it if the acquirer did it, or goes back. If the sandbox dropped the answer,
        // it is known to be lost, so recovery starts at once.
        Err(Failure::NoAnswer) => {
            if fault == Some(Fault::AnswerLost) {
                recover::recover(ctx, &moment, row.clone()).await?;
            }
            return Err(Error::from(ErrorCode::GatewayError).about(&row));
        }
    };
    let (now, row) = outcome::write(ctx, account, row, TokenUse::Inline, verdict).await?;
    if row.state == step.to { Ok((now, row)) } else { Err(Error::from(ErrorCode::GatewayError).about(&row)) }
}

struct CaptureOrVoidIntent {
    row: charge::Model,
    account: Account,
    action: ChargeAction,
    wall: Timestamp,
}

/// Moves the charge into its state in flight, or refuses by its current state.
async fn record_intent(
    tx: &Tx,
    intent: &CaptureOrVoidIntent,
) -> Result<(charge::Model, ChargeTransition, FaultPlan), Error> {
    let CaptureOrVoidIntent { row: seen, account, action, wall } = intent;
    let refusal = |code: ErrorCode| Error::from(code).about(seen);
    let step = next(EffectiveState::at(account.now, seen), *action).map_err(refusal)?;
    if let Some(claim) = account.claim() {
        claim.record(tx, account.id(), *wall)?;
    }
    let mut row = seen.clone();
    row.state = step.through;
    row.attempt = seen.attempt + 1;
    row.settle_after = Some(*wall + SETTLE_AFTER);
    row.claim = account.claim().map(|claim| claim.hash().to_vec());
    // The call's key has the number of its attempt: a later try is another call.
    row.call = row.attempt;
    let update = compare_with_seen(seen)
        .col_expr(charge::Column::State, word(row.state))
        .col_expr(charge::Column::Attempt, Expr::value(row.attempt))
        .col_expr(charge::Column::Call, Expr::value(row.call))
        .col_expr(charge::Column::Claim, Expr::value(row.claim.clone()))
        .col_expr(charge::Column::SettleAfter, Expr::value(row.settle_after.map(Timestamp::millis)))
        .col_expr(charge::Column::AmountCaptured, Expr::value(row.amount_captured))
        .col_expr(charge::Column::CapturedAs, Expr::value(row.captured_as))
        .col_expr(charge::Column::SettlementAmount, Expr::value(row.settlement_amount))
        .col_expr(charge::Column::Fees, Expr::value(row.fees))
        .col_expr(charge::Column::Entitlement, Expr::value(row.entitlement));
    if tx.compare_and_set(update).await? {
        let fares = faults::draw(tx, account).await?;
        crash_points::point(call_name(row.state), "intent.before");
        return Ok((row, step, fares));
    }
    let found = outcome::found(tx, seen).await?;
    match next(EffectiveState::at(account.now, &found), *action) {
        Err(code) => Err(refusal(code)),
        // The charge is authorised again: the concurrent request's call failed, and so does this one.
        Ok(_) => Err(refusal(ErrorCode::GatewayError)),
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
