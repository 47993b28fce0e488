//! A payment in one commit (`docs/decisions.md`, 477). An acquirer elsewhere may have charged when this process dies, so that its
//! payments take two. The simulator in this process forgets with it, and there is nothing to find out: its call and the outcome
//! are recorded together with the intent, if what the sandbox injects neither delays nor loses the answer.

use std::future::ready;

use acquirer::{Approval, AuthoriseCall, Failure};
use base::crash_points;
use entity::failure::Decline;
use entity::{Timestamp, card, charge};
use store::Tx;

use super::attempt::Attempt;
use super::call::call_name;
use super::creation::admit;
use super::order::{ChargeIntent, ChargeOrder};
use super::outcome::{self, PaymentOutcome};
use super::purpose::CardPayment;
use crate::error::{Error, ErrorCode};
use crate::services::accounts::faults;
use crate::services::cards;
use crate::services::context::{Caller, Context};
use crate::services::due_work::work_time::WorkTime;
use crate::services::payer::TokenUse;

/// Returns the acquirer's answer, if the payment can be made in one commit.
pub(super) fn answer(
    ctx: &Context,
    time: &WorkTime,
    call: &mut AuthoriseCall,
) -> Result<Option<Result<Approval, Decline>>, Error> {
    let Some(faults) = faults::certain(time.account())? else { return Ok(None) };
    call.forced = call.forced.or(faults.outcome);
    Ok(ctx.acquirer.authorise_here(call))
}

/// Makes the payment. Returns the time of its outcome, and its row.
///
/// Refusals: `unauthorized`, `idempotency_key_in_use`, `token_already_used`. A decline is none: it is recorded.
pub(super) async fn make(
    ctx: &Context,
    time: &WorkTime,
    caller: Caller,
    ChargeOrder { intent, call }: ChargeOrder,
    answer: Result<Approval, Decline>,
) -> Result<(Timestamp, charge::Model), Error> {
    let ChargeIntent { row, card, token } = *intent;
    let name = call_name(row.state);
    let mut attempt = Attempt::new(ctx, time, &row, &call);
    let result = attempt.make(ctx, time, &row, ready(answer.map_err(Failure::Declined))).await;
    let result = result.ok_or_else(|| Error::internal("an answer that was there is lost"))?;
    let outcome = PaymentOutcome::new(ctx, time, row, token, result);
    let (now, disputed) = (outcome.now, outcome.disputed());

    let claim = caller.claim.clone();
    let unit = ctx.store.write(
        (card, outcome, caller, ctx.trusted.latest()),
        async |tx, (card, outcome, caller, claimed_at)| {
            admit(tx, caller, *claimed_at).await?;
            record(tx, card, outcome).await
        },
    );
    let row = unit.await?;
    crash_points::point(name, "outcome.after");
    time.account().confirm();
    if let Some(claim) = claim {
        claim.hold();
    }
    attempt.count(ctx, row.failure);
    outcome::after_commit::<CardPayment>(ctx, time, disputed).await;
    Ok((now, row))
}

/// Records intent and outcome: the card's token is spent, and the row is added as it is in the end.
async fn record(tx: &Tx, card: &card::Model, outcome: &PaymentOutcome) -> Result<charge::Model, Error> {
    let row = outcome::row_after(outcome);
    match outcome.token {
        TokenUse::Single(token) => {
            if !cards::take(tx, row.account_id, token, row.created_at).await? {
                return Err(ErrorCode::TokenAlreadyUsed.into());
            }
        }
        TokenUse::Inline => tx.append(card),
        TokenUse::Again(_) => {}
    }
    tx.append(&row);
    outcome::follow(tx, outcome, &row).await?;
    Ok(row)
}
