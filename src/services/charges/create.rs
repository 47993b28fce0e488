//! POST /charges in three steps: intent, call, outcome.

use entity::{Timestamp, charge};
use futures::FutureExt;

use super::call::{ask, call_name};
use super::order::{self, Order};
use super::outcome::{self, Verdict};
use super::settle;
use crate::acquirer::{Approval, Failure};
use crate::crash;
use crate::error::{Error, ErrorCode};
use crate::params::Params;
use crate::params::charge::NewCharge;
use crate::services::accounts::faults::{self, Fares};
use crate::services::cards;
use crate::services::claim::Claim;
use crate::services::context::{Account, Context, Ctx};
use crate::services::payment::TokenUse;
use crate::store::Tx;
use crate::views::charge::Charge;

/// Make a charge: capture it at once, or authorise it to be captured later. May take as long as the acquirer.
///
/// Refusals, first match wins: `invalid_resource`, `token_already_used`; then the acquirer's: a decline, or
/// `gateway_error`, which always means that nothing was charged. A decline is no refusal of the database's: the
/// failed attempt is recorded.
///
/// `outcome` is the word of a `Sandbox-Outcome` header.
pub async fn create(
    ctx: &Ctx,
    account: &Account,
    params: Params<NewCharge>,
    outcome: Option<&str>,
) -> Result<Charge, Error> {
    let order = order::place(ctx, account, params, outcome).await?;
    let (task, account) = (ctx.clone(), account.clone());
    ctx.in_own_task(async move { pay(&task, &account, order).await }).await
}

async fn pay(ctx: &Context, account: &Account, order: Order) -> Result<Charge, Error> {
    let Order { row, inline_card, token, mut call } = order;
    let intent =
        Intent { row: row.clone(), inline_card, token, account: account.clone(), wall: ctx.clock.now() };
    let fares = ctx.store.write(intent, |tx, intent| record_intent(tx, intent).boxed()).await?;
    crash::point(call_name(row.state), "intent.after");
    account.claim().into_iter().for_each(Claim::hold);

    let key = call.key.clone();
    // What was ordered for this very attempt goes before what was ordered for all of the account's.
    call.forced = call.forced.or(fares.outcome);
    let answer = ask(ctx, &row, fares.late(ctx.acquirer.authorise(call))).await;
    let verdict = match answer {
        Ok(Approval { reference }) => Verdict::Approved { reference },
        Err(Failure::Declined(decline)) => Verdict::Failed { failure: decline.into(), spent: true },
        Err(Failure::GatewayError | Failure::Closed) => settle::nothing_charged(),
        Err(Failure::NoAnswer) => match settle::reversed(ctx, &key).await {
            Some(verdict) => verdict,
            // A worker settles it. Until then nobody is told that anything was charged.
            None => return Err(Error::from(ErrorCode::GatewayError).about_charge(row.id)),
        },
    };
    let (now, row) = outcome::write(ctx, account, row, token, verdict).await?;
    outcome::answer(now, row)
}

/// What is recorded before the acquirer is asked.
struct Intent {
    row: charge::Model,
    inline_card: Option<entity::card::Model>,
    token: TokenUse,
    account: Account,
    wall: Timestamp,
}

async fn record_intent(tx: &Tx, intent: &Intent) -> Result<Fares, Error> {
    let row = &intent.row;
    if let Some(claim) = intent.account.claim() {
        claim.record(tx, row.account_id, intent.wall)?;
    }
    if let TokenUse::Single(card) = intent.token
        && !cards::reserve(tx, row.account_id, card, row.created_at).await?
    {
        return Err(ErrorCode::TokenAlreadyUsed.into());
    }
    if let Some(card) = &intent.inline_card {
        tx.append(card);
    }
    tx.append(row);
    let fares = faults::draw(tx, &intent.account).await?;
    crash::point(call_name(row.state), "intent.before");
    Ok(fares)
}
