//! Makes a payment in three steps: intent, call, outcome.

use entity::failure::Decline;
use entity::{Timestamp, charge};
use futures::FutureExt;

use super::call::{ask, call_name};
use super::order::{ChargeIntent, ChargeOrder};
use super::outcome::{self, AttemptResult};
use super::recover;
use crate::acquirer::{Approval, AuthoriseCall, Failure};
use crate::error::{Error, ErrorCode};
use crate::runtime::crash_points;
use crate::services::accounts::faults::{self, FaultPlan};
use crate::services::cards;
use crate::services::context::{Account, Context, Ctx};
use crate::services::due_work::work_time::WorkTime;
use crate::services::idempotency::claim::IdempotencyClaim;
use crate::services::payer::TokenUse;
use crate::store::Tx;

/// Makes a payment in the three steps: captured at once, or authorised for a later capture. Returns the row of an
/// approved payment and the time of its outcome. May take as long as the acquirer.
///
/// Refusals, first match wins: `token_already_used`, `idempotency_key_in_use`; then the acquirer's: a decline, or
/// `gateway_error`, which always means that nothing was charged. A decline is committed: the failed attempt is
/// recorded.
pub(in crate::services) async fn pay(
    ctx: &Ctx,
    account: &Account,
    order: ChargeOrder,
) -> Result<(Timestamp, charge::Model), Error> {
    let (task, account) = (ctx.clone(), account.clone());
    ctx.in_own_task(async move { in_three_steps(&task, &account, order).await }).await
}

async fn in_three_steps(
    ctx: &Context,
    account: &Account,
    order: ChargeOrder,
) -> Result<(Timestamp, charge::Model), Error> {
    let ChargeOrder { intent, call } = order;
    let (row, token) = (intent.row.clone(), intent.token);
    let fares = ctx.store.write(intent, |tx, intent| record_intent(tx, intent).boxed()).await?;
    crash_points::point(call_name(row.state), "intent.after");
    account.claim().into_iter().for_each(IdempotencyClaim::hold);

    let Some(verdict) = verdict(ctx, &WorkTime::on_running_clock(account.clone()), &row, fares, call).await
    else {
        // A worker recovers it. Until then no answer says that anything was charged.
        return Err(Error::from(ErrorCode::GatewayError).about(&row));
    };
    let (now, row) = outcome::write(ctx, account, row, token, verdict).await?;
    outcome::approved(&row)?;
    Ok((now, row))
}

/// Records the intent as a part of its caller's unit: claims the Idempotency-Key, reserves the card's token, adds the
/// row and draws the call's faults.
///
/// Refusals: `idempotency_key_in_use`, `token_already_used`.
pub(in crate::services) async fn record_intent(tx: &Tx, intent: &ChargeIntent) -> Result<FaultPlan, Error> {
    record_row(tx, intent).await?;
    let fares = faults::draw(tx, &intent.account).await?;
    crash_points::point(call_name(intent.row.state), "intent.before");
    Ok(fares)
}

/// Records the intent of a payment whose acquirer call comes later.
///
/// Refusals: `idempotency_key_in_use`, `token_already_used`.
pub(in crate::services) async fn record_row(tx: &Tx, intent: &ChargeIntent) -> Result<(), Error> {
    let row = &intent.row;
    if let Some(claim) = intent.account.claim() {
        claim.record(tx, row.account_id, intent.wall)?;
    }
    if let TokenUse::Single(card) = intent.token
        && !cards::reserve(tx, row.account_id, card, row.created_at).await?
    {
        return Err(ErrorCode::TokenAlreadyUsed.into());
    }
    if intent.token == TokenUse::Inline {
        tx.append(&intent.card);
    }
    tx.append(row);
    Ok(())
}

/// Makes the acquirer call of the intent in `row`. `None` if its outcome is unknown, so that a worker must recover it.
/// A card that has expired by the account's clock is declined without a call: the acquirer knows only its own clock.
pub(in crate::services) async fn verdict(
    ctx: &Context,
    moment: &WorkTime,
    row: &charge::Model,
    fares: FaultPlan,
    mut call: AuthoriseCall,
) -> Option<AttemptResult> {
    let expiry = (call.expiry_year, u32::try_from(call.expiry_month).unwrap_or_default());
    if cards::has_expired(expiry, moment.now(ctx)) {
        return Some(AttemptResult::Failed { failure: Decline::ExpiredCard.into(), spent: true });
    }
    // An outcome forced for this attempt precedes one configured for the account.
    call.forced = call.forced.or(fares.outcome);
    // A moving clock adds no latency.
    let fares = if moment.is_on_running_clock() { fares } else { fares.at_once() };
    match ask(ctx, moment, row, fares.with_latency(ctx.acquirer.authorise(call))).await {
        Ok(Approval { reference }) => Some(AttemptResult::Approved { reference }),
        Err(Failure::Declined(decline)) => {
            Some(AttemptResult::Failed { failure: decline.into(), spent: true })
        }
        Err(Failure::GatewayError | Failure::Closed) => Some(recover::nothing_charged()),
        Err(Failure::NoAnswer) => recover::creation(ctx, moment, row).await,
    }
}
