//! The outcome of a bill: the outcome of its charge and the subscription's next row, in one commit, whichever request or
//! worker learns it.

use std::sync::Arc;

use acquirer::AuthoriseCall;
use entity::charge::{self, Origin};
use entity::counter::Counted;
use entity::event::EventType;
use entity::subscription::{self, SubscriptionState};
use entity::{Listed, Timestamp, plan};
use store::Tx;

use super::bill::BillingWork;
use super::course::{Bill, continue_interval, end_billing, next_interval, record_failure, restarted};
use super::entries;
use super::rows::{lock_charged, lock_customer, plan_of, put, record_event};
use super::state::{SubscriptionAction, next};
use crate::error::{Error, ErrorCode};
use crate::services::context::{Caller, Context, Ctx};
use crate::services::counts;
use crate::services::due_work::DueWork;
use crate::services::due_work::work_time::WorkTime;
use crate::services::idempotency::claim::IdempotencyClaim;
use crate::services::payer::TokenUse;
use crate::services::payments::creation::{NewPayment, PaymentIntent, make_payment};
use crate::services::payments::outcome::{self, AttemptResult, PaymentOutcome};
use crate::services::payments::purpose::PaymentPurpose;
use crate::services::payments::recovery;
use crate::services::plans;
use crate::services::subscriptions::view::Subscription;

/// The outcome of a bill.
pub(super) enum BillingOutcome {
    /// The charge was approved: the subscription goes on, with this event.
    Paid(Box<Subscription>, Option<EventType>),
    /// The charge failed, with this event. Or another worker records its outcome; or its plan was deleted meanwhile, so
    /// that an approved charge stands alone.
    Unpaid(Box<charge::Model>, EventType),
    /// The charge was approved for a customer who is gone: nothing is written, it has to be undone.
    CustomerGone(Box<charge::Model>),
}

/// Makes the first charge of a subscription, or of its reactivation, for the client that waits for it.
///
/// Refusals: the intent's, the acquirer's; `gone` if the customer was deleted meanwhile.
pub(super) async fn pay(
    ctx: &Ctx,
    caller: &Caller,
    intent: impl PaymentIntent,
    call: AuthoriseCall,
    gone: ErrorCode,
) -> Result<Subscription, Error> {
    let time = WorkTime::on_running_clock(caller.account.clone()).by(BillingWork::wall);
    let task = Ctx::clone(ctx);
    let (claim, purpose) = (caller.claim.clone(), BillPayment { claim: caller.claim.clone() });
    // A customer's card is never spent.
    let payment = NewPayment { intent, token: TokenUse::Inline, call, purpose, claim };
    ctx.in_own_task(async move { Box::pin(pay_bill(&task, &time, payment, gone)).await }).await
}

async fn pay_bill(
    ctx: &Context,
    time: &WorkTime,
    payment: NewPayment<impl PaymentIntent, BillPayment>,
    gone: ErrorCode,
) -> Result<Subscription, Error> {
    match make_payment(ctx, time, payment).await?.into_record()? {
        BillingOutcome::Paid(subscription, _) => Ok(*subscription),
        BillingOutcome::Unpaid(charge, _) => {
            outcome::approved(&charge)?;
            Err(Error::internal("an approved charge without its subscription"))
        }
        BillingOutcome::CustomerGone(row) => {
            let unknown = || Error::from(ErrorCode::GatewayError).about(&row);
            let undone = recovery::creation(ctx, time, &row).await.ok_or_else(unknown)?;
            record_outcome(ctx, time, *row, undone).await?;
            Err(gone.into())
        }
    }
}

/// Records the result of a bill's charge that no client waits for.
pub(super) async fn record_outcome(
    ctx: &Context,
    time: &WorkTime,
    row: charge::Model,
    result: AttemptResult,
) -> Result<BillingOutcome, Error> {
    let outcome = PaymentOutcome::new(ctx, time, row, TokenUse::Inline, result);
    outcome::commit_outcome(ctx, time, outcome, BillPayment { claim: None }).await
}

/// The payment of a bill: the subscription goes on, or does not, in the commit of the charge's outcome.
pub(super) struct BillPayment {
    /// The claim of the request that waits for the subscription.
    pub claim: Option<Arc<IdempotencyClaim>>,
}

impl PaymentPurpose for BillPayment {
    type Record = BillingOutcome;
    const AWAITS_DISPUTE: bool = false;

    async fn record_outcome(&self, tx: &Tx, outcome: &PaymentOutcome) -> Result<BillingOutcome, Error> {
        let (seen, approved) = (&outcome.row, outcome.is_approved());
        let is_renewal = seen.origin == Origin::Renewal;
        if let (true, false, Some(customer)) = (approved, is_renewal, seen.customer_id)
            && !lock_customer(tx, seen.account_id, customer).await?
        {
            return Ok(BillingOutcome::CustomerGone(Box::new(seen.clone())));
        }
        let (charge, is_ours) = outcome::record(tx, outcome).await?;
        let of_charge = if approved { EventType::ChargeCaptured } else { EventType::ChargeFailed };
        let unpaid = |event| Ok(BillingOutcome::Unpaid(Box::new(charge.clone()), event));
        if !is_ours {
            return unpaid(of_charge);
        }
        // Its plan may have been deleted during a renewal of a cancelled subscription: the charge stands alone.
        let Some(row) = lock_charged(tx, charge.account_id, charge.id).await? else {
            return unpaid(of_charge);
        };
        // Or at this moment.
        let is_over = matches!(row.state, SubscriptionState::Cancelling | SubscriptionState::Cancelled);
        if is_over && !plans::count::lock_plan(tx, row.account_id, row.plan_id).await? {
            return unpaid(of_charge);
        }
        if approved {
            let plan = plan_of(tx, &row).await?;
            let (subscription, event) = self.continue_subscription(tx, outcome, &row, &plan).await?;
            return Ok(BillingOutcome::Paid(Box::new(subscription), event));
        }
        if is_renewal {
            record_failed_renewal(tx, &row, outcome.now).await?;
            return unpaid(EventType::SubscriptionRenewalFailed);
        }
        abandon_subscription(tx, row).await?;
        unpaid(of_charge)
    }
}

impl BillPayment {
    async fn continue_subscription(
        &self,
        tx: &Tx,
        outcome: &PaymentOutcome,
        before: &subscription::Model,
        plan: &plan::Model,
    ) -> Result<(Subscription, Option<EventType>), Error> {
        let (step, after) = if outcome.row.origin == Origin::Renewal {
            let step = next(before.state, SubscriptionAction::Renew)?;
            (step, next_interval(before, step, plan))
        } else if before.state == SubscriptionState::Starting {
            let step = next(before.state, starts(before))?;
            counts::add(tx, before.account_id, Counted::Subscriptions, 1);
            (step, continue_interval(before, step, plan))
        } else {
            let step = next(before.state, SubscriptionAction::Reactivate)?;
            plans::count::count_charge_end(tx, before.account_id, before.plan_id).await?;
            (step, restarted(before, step, plan, outcome.row.created_at))
        };
        let bill = Bill::paid(plan, after.interval_number, outcome.row.amount);
        entries::record(tx, &after, plan, &bill, outcome.row.id, outcome.now);
        let subscription = put(tx, before, after, step.emits, outcome.now).await?;
        if let Some(claim) = &self.claim {
            outcome.keep_response(tx, claim.hash(), &claim.response(&subscription)?).await?;
        }
        Ok((subscription, step.emits))
    }
}

/// Bills it again later, or ends it.
pub(super) async fn record_failed_renewal(
    tx: &Tx,
    row: &subscription::Model,
    now: Timestamp,
) -> Result<(), Error> {
    let plan = plan_of(tx, row).await?;
    let was_due = row.next_billing_at.is_some();
    let step = next(row.state, SubscriptionAction::Refuse)?;
    let after = record_failure(row, &plan, now);
    record_event(tx, after.clone(), step.emits, now)?;
    if was_due && after.next_billing_at.is_none() {
        let step = next(after.state, SubscriptionAction::Cancel)?;
        let over = end_billing(&after, step, now);
        return put(tx, row, over, step.emits, now).await.map(drop);
    }
    Ok(tx.update(row, &after).await?)
}

/// Returns how a subscription begins: with a trial or with its first interval.
pub(super) fn starts(row: &subscription::Model) -> SubscriptionAction {
    if row.interval_number == 0 { SubscriptionAction::StartTrial } else { SubscriptionAction::Start }
}

/// Undoes the intent of a bill that charged nothing: a new subscription is deleted, a cancelled one stays cancelled.
async fn abandon_subscription(tx: &Tx, row: subscription::Model) -> Result<(), Error> {
    if row.state == SubscriptionState::Starting {
        let gone = subscription::Entity::delete_at(row.account_id, row.id);
        gone.exec(tx).await?;
        plans::count::count_move(tx, row.account_id, row.plan_id, Some(row.state), None).await?;
        return Ok(());
    }
    plans::count::count_charge_end(tx, row.account_id, row.plan_id).await?;
    Ok(tx.update(&row, &subscription::Model { charge_id: None, ..row.clone() }).await?)
}
