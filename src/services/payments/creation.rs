//! Makes a payment in three steps: intent, call, outcome; or in one, where nothing leaves the process.

use std::sync::Arc;

use acquirer::{Approval, AuthoriseCall, Failure};
use base::crash_points;
use entity::failure::Decline;
use entity::{Timestamp, charge};
use store::Tx;

use super::call::{call_acquirer, call_name, force_outcome, has_expired_card};
use super::one_commit;
use super::order::{ChargeIntent, ChargeOrder};
use super::outcome::{self, AttemptResult, PaymentOutcome};
use super::purpose::{CardPayment, PaymentPurpose, rules};
use super::recovery;
use crate::error::{Error, ErrorCode};
use crate::limits::SETTLE_AFTER;
use crate::services::accounts::faults::{self, FaultPlan};
use crate::services::card_testing::WatchedPayment;
use crate::services::cards;
use crate::services::context::{Caller, Context, Ctx};
use crate::services::due_work::work_time::WorkTime;
use crate::services::idempotency::claim::IdempotencyClaim;
use crate::services::payer::TokenUse;

/// The first commit of a payment.
pub(in crate::services) trait PaymentIntent: Send + Sync + 'static {
    /// Records what must be there before the acquirer is called. Returns the row in state `processing`, or `None` if
    /// another worker or request was faster and nothing is to be written.
    ///
    /// Refusals: `token_already_used`, and the intent's own.
    fn record(&self, tx: &Tx) -> impl Future<Output = Result<Option<charge::Model>, Error>> + Send;
}

/// A payment that is to be made.
pub(in crate::services) struct NewPayment<I, P> {
    /// The first commit.
    pub intent: I,
    /// The use of the card's token.
    pub token: TokenUse,
    /// The acquirer call.
    pub call: AuthoriseCall,
    /// The purpose, which adds its work to the second commit.
    pub purpose: P,
    /// The claim of the Idempotency-Key, if a client waits for the payment under one.
    pub claim: Option<Arc<IdempotencyClaim>>,
}

/// The progress of a payment.
pub(in crate::services) enum PaymentProgress<C> {
    /// Another worker or request makes it.
    Skipped,
    /// The acquirer's answer is unknown. A worker recovers it; until then no answer says that anything was charged.
    Unanswered(Box<charge::Model>),
    /// Its outcome is recorded.
    Recorded(C),
}

impl<C> PaymentProgress<C> {
    /// Returns the outcome of a payment that its client waits for.
    ///
    /// Refusals: `gateway_error`.
    pub fn into_record(self) -> Result<C, Error> {
        match self {
            Self::Recorded(record) => Ok(record),
            Self::Unanswered(row) => Err(Error::from(ErrorCode::GatewayError).about(&row)),
            Self::Skipped => Err(Error::internal("another payment took the place of a new one")),
        }
    }
}

/// Makes a payment in the three steps.
///
/// Refusals: the intent's. A decline is none: it is recorded, and is the outcome.
pub(in crate::services) async fn make_payment<I: PaymentIntent, P: PaymentPurpose>(
    ctx: &Context,
    time: &WorkTime,
    payment: NewPayment<I, P>,
) -> Result<PaymentProgress<P::Record>, Error> {
    let NewPayment { intent, token, call, purpose, claim } = payment;
    let caller = Caller { account: time.account().clone(), claim, condition: None };
    let confirming = caller.clone();
    let unit =
        time.write(ctx, (intent, caller, ctx.trusted.latest()), async |tx, (intent, caller, claimed_at)| {
            record_intent(tx, intent, caller, *claimed_at).await
        });
    let Some((row, faults)) = unit.await? else { return Ok(PaymentProgress::Skipped) };
    crash_points::point(call_name(row.state), "intent.after");
    confirming.confirm();

    let Some(result) = attempt(ctx, time, &row, faults, call).await else {
        return Ok(PaymentProgress::Unanswered(Box::new(row)));
    };

    let outcome = PaymentOutcome::new(ctx, time, row, token, result);
    Ok(PaymentProgress::Recorded(outcome::commit_outcome(ctx, time, outcome, purpose).await?))
}

/// Records the intent, and draws the faults of its call.
///
/// Refusals: `unauthorized`, `idempotency_key_in_use`, then the intent's.
async fn record_intent(
    tx: &Tx,
    intent: &impl PaymentIntent,
    caller: &Caller,
    claimed_at: Timestamp,
) -> Result<Option<(charge::Model, FaultPlan)>, Error> {
    caller.require_and_claim(tx, claimed_at).await?;
    let Some(row) = intent.record(tx).await? else { return Ok(None) };
    let faults = faults::draw(tx, &caller.account).await?;
    crash_points::point(call_name(row.state), "intent.before");
    Ok(Some((row, faults)))
}

/// Makes the attempt of the intent in `row` and counts its result. A payment of an attack by card testers is declined without
/// a call. `None` if its outcome is unknown, so that a worker must recover it.
async fn attempt(
    ctx: &Context,
    time: &WorkTime,
    row: &charge::Model,
    faults: FaultPlan,
    call: AuthoriseCall,
) -> Option<AttemptResult> {
    let watched =
        if rules(row.origin).is_watched { WatchedPayment::new(ctx, time, row, &call.number) } else { None };
    let Some(watched) = watched else { return authorise(ctx, time, row, faults, call).await };
    if watched.is_refused(ctx) {
        return Some(AttemptResult::Failed { failure: Decline::SuspectedFraud.into(), spent: true });
    }
    let result = authorise(ctx, time, row, faults, call).await;
    match &result {
        Some(AttemptResult::Approved { .. }) => watched.record(ctx, None),
        Some(AttemptResult::Failed { failure, .. }) => watched.record(ctx, Some(*failure)),
        Some(AttemptResult::Moved(_) | AttemptResult::Back) | None => {}
    }
    result
}

/// Makes the acquirer call of the intent in `row`. `None` if its outcome is unknown, so that a worker must recover it.
/// A card that has expired by the account's clock is declined without a call: the acquirer knows only its own clock.
async fn authorise(
    ctx: &Context,
    time: &WorkTime,
    row: &charge::Model,
    faults: FaultPlan,
    mut call: AuthoriseCall,
) -> Option<AttemptResult> {
    if has_expired_card(&call, time.now(ctx)) {
        return Some(AttemptResult::Failed { failure: Decline::ExpiredCard.into(), spent: true });
    }
    force_outcome(&mut call, &faults);
    // A moving clock adds no latency.
    let faults = if time.is_on_running_clock() { faults } else { faults.at_once() };
    match call_acquirer(ctx, time, row, faults.with_latency(ctx.acquirer.authorise(call))).await {
        Ok(Approval { reference }) => Some(AttemptResult::Approved { reference }),
        Err(Failure::Declined(decline)) => {
            Some(AttemptResult::Failed { failure: decline.into(), spent: true })
        }
        Err(Failure::GatewayError | Failure::Closed) => Some(recovery::nothing_charged()),
        Err(Failure::NoAnswer) => recovery::creation(ctx, time, row).await,
    }
}

/// Makes a payment for its client: captured at once, or authorised for a later capture. Returns the time of the outcome
/// and the row of an approved payment. May take as long as the acquirer.
///
/// Refusals, first match wins: `token_already_used`, `idempotency_key_in_use`; then the acquirer's: a decline, or
/// `gateway_error`, which always means that nothing was charged. A decline is committed: the failed attempt is
/// recorded.
pub(in crate::services) async fn pay(
    ctx: &Ctx,
    caller: &Caller,
    order: ChargeOrder,
) -> Result<(Timestamp, charge::Model), Error> {
    let (task, time) = (ctx.clone(), WorkTime::on_running_clock(caller.account.clone()));
    let mut order = order.under_key(caller);
    // From now on: what was looked up for the order may have taken its time.
    order.intent.row.settle_after = Some(ctx.clock.now() + SETTLE_AFTER);
    let answer = one_commit::answer(ctx, &caller.account, &mut order.call)?;
    let caller = Caller { account: caller.account.clone(), claim: caller.claim.clone(), condition: None };
    ctx.in_own_task(async move {
        let (now, row) = if let Some(answer) = answer {
            one_commit::make(&task, &time, caller, order, answer).await?
        } else {
            let ChargeOrder { intent, call } = order;
            let (token, claim) = (intent.token, caller.claim);
            let payment = NewPayment { intent: *intent, token, call, purpose: CardPayment, claim };
            make_payment(&task, &time, payment).await?.into_record()?
        };
        outcome::approved(&row)?;
        Ok((now, row))
    })
    .await
}

impl PaymentIntent for ChargeIntent {
    async fn record(&self, tx: &Tx) -> Result<Option<charge::Model>, Error> {
        record_row(tx, self).await?;
        Ok(Some(self.row.clone()))
    }
}

/// Records a payment as a part of its caller's unit: reserves the card's token and adds the row.
///
/// Refusals: `token_already_used`.
pub(in crate::services) async fn record_row(tx: &Tx, intent: &ChargeIntent) -> Result<(), Error> {
    let row = &intent.row;
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
