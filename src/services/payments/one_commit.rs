//! A payment in one commit (`docs/decisions.md`, 477). An acquirer elsewhere may have charged when this process dies, so that its
//! payments take two. The simulator in this process forgets with it, and there is nothing to find out: its call and the outcome
//! are recorded together with the intent.

use acquirer::{Approval, AuthoriseCall};
use base::crash_points;
use entity::card_attack::CardTestingAction;
use entity::failure::Decline;
use entity::{Timestamp, card, charge};
use store::Tx;

use super::call::{call_name, force_outcome, has_expired_card, note_answer};
use super::order::{ChargeIntent, ChargeOrder};
use super::outcome::{self, AttemptResult, PaymentOutcome};
use super::purpose::CardPayment;
use crate::error::{Error, ErrorCode};
use crate::services::accounts::faults;
use crate::services::context::{Account, Caller, Context};
use crate::services::due_work::work_time::WorkTime;
use crate::services::payer::TokenUse;
use crate::services::{card_testing, cards};

/// Returns the acquirer's answer, if the payment can be made in one commit: what the sandbox injects neither delays nor loses the
/// answer, and no payment before it decides about it.
pub(super) fn answer(
    ctx: &Context,
    account: &Account,
    call: &mut AuthoriseCall,
) -> Result<Option<Result<Approval, Decline>>, Error> {
    let settings = account.settings();
    if card_testing::action(ctx.environment, &settings.card_testing()) != CardTestingAction::Off {
        return Ok(None);
    }
    let Some(faults) = faults::certain(account)? else { return Ok(None) };
    force_outcome(call, &faults);
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
    let answer = if has_expired_card(&call, time.now(ctx)) {
        Err(Decline::ExpiredCard)
    } else {
        note_answer(name, &answer);
        answer
    };
    let result = match answer {
        Ok(Approval { reference }) => AttemptResult::Approved { reference },
        Err(decline) => AttemptResult::Failed { failure: decline.into(), spent: true },
    };
    let outcome = PaymentOutcome::new(ctx, time, row, token, result);
    let (now, disputed, confirming) = (outcome.now, outcome.disputed(), caller.clone());
    let unit = ctx.store.write(
        (card, outcome, caller, ctx.trusted.latest()),
        async |tx, (card, outcome, caller, claimed_at)| {
            caller.require_and_claim(tx, *claimed_at).await?;
            record(tx, card, outcome).await
        },
    );
    let row = unit.await?;
    crash_points::point(name, "outcome.after");
    confirming.confirm();
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
