//! What came of a charge of a subscription: the charge's outcome and the subscription's next row, in one commit, whoever
//! learnt it.

use std::sync::Arc;

use entity::charge::{self, Origin};
use entity::counter::Counted;
use entity::event::EventType;
use entity::subscription::{self, Column, SubscriptionState};
use entity::{Timestamp, plan};
use futures::FutureExt;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use super::course::{Bill, closed, continue_interval, record_failure, renewed, restarted};
use super::entries;
use super::rows::{charged, customer_held, plan_of, put, store, tell};
use super::state::{SubscriptionAction, next};
use crate::acquirer::AuthoriseCall;
use crate::error::{Error, ErrorCode};
use crate::runtime::crash_points;
use crate::services::accounts::faults::FaultPlan;
use crate::services::charges::outcome::{self, AttemptResult, RecordOutcomeUnit};
use crate::services::charges::{create, recover};
use crate::services::context::{Account, Context};
use crate::services::due_work::work_time::WorkTime;
use crate::services::idempotency::claim::IdempotencyClaim;
use crate::services::payer::TokenUse;
use crate::services::{idempotency, plans};
use crate::store::Tx;
use crate::vault::Vault;
use crate::views::subscription::Subscription;

/// What became of it.
pub(super) enum BillingOutcome {
    /// The charge was approved; the subscription goes on, and this has happened to it.
    Paid(Box<Subscription>, Option<EventType>),
    /// The charge failed, and this has happened; or somebody else has settled it, or does.
    Unpaid(Box<charge::Model>, EventType),
    /// The charge was approved for a customer who is gone: nothing is written, it has to be undone.
    CustomerGone,
}

/// Take the first charge of a subscription, or of its reactivation, from its intent to its end.
///
/// Refusals: the acquirer's; `gone` where the customer was deleted meanwhile.
pub(super) async fn pay(
    ctx: &Context,
    account: &Account,
    (row, call, fares): (charge::Model, AuthoriseCall, FaultPlan),
    gone: ErrorCode,
) -> Result<Subscription, Error> {
    crash_points::point("charge", "intent.after");
    account.claim().into_iter().for_each(IdempotencyClaim::hold);
    let moment = WorkTime::on_running_clock(account.clone());
    // Where nobody knows, a worker settles it. Until then nobody is told that anything was charged.
    let unknown = || Error::from(ErrorCode::GatewayError).about(&row);
    let verdict = create::verdict(ctx, &moment, &row, fares, call).await.ok_or_else(unknown)?;
    match record_outcome(ctx, &moment, row.clone(), verdict).await? {
        BillingOutcome::Paid(subscription, _) => Ok(*subscription),
        BillingOutcome::Unpaid(charge, _) => {
            outcome::approved(&charge)?;
            Err(Error::internal("an approved charge without its subscription"))
        }
        BillingOutcome::CustomerGone => {
            let undone = recover::creation(ctx, &moment, &row).await.ok_or_else(unknown)?;
            record_outcome(ctx, &moment, row.clone(), undone).await?;
            Err(gone.into())
        }
    }
}

/// Record a verdict.
pub(super) async fn record_outcome(
    ctx: &Context,
    moment: &WorkTime,
    row: charge::Model,
    verdict: AttemptResult,
) -> Result<BillingOutcome, Error> {
    let (account, now) = (moment.account(), moment.now(ctx));
    let approved = matches!(verdict, AttemptResult::Approved { .. });
    // A customer's card is never spent.
    let outcome = RecordOutcomeUnit::new(ctx, account, now, row.clone(), TokenUse::Inline, verdict);
    let conclusion = RecordBillingUnit {
        row,
        outcome,
        approved,
        now,
        claim: account.claim().cloned(),
        vault: Arc::clone(&ctx.vault),
    };
    let concluded = ctx.store.write(conclusion, |tx, conclusion| conclusion.record(tx).boxed()).await?;
    crash_points::point("charge", "outcome.after");
    Ok(concluded)
}

struct RecordBillingUnit {
    /// The charge, as it was asked for.
    row: charge::Model,
    outcome: RecordOutcomeUnit,
    approved: bool,
    now: Timestamp,
    claim: Option<IdempotencyClaim>,
    vault: Arc<Vault>,
}

impl RecordBillingUnit {
    async fn record(&self, tx: &Tx) -> Result<BillingOutcome, Error> {
        let (account, renewal) = (self.row.account_id, self.row.origin == Origin::Renewal);
        if let (true, false, Some(customer)) = (self.approved, renewal, self.row.customer_id)
            && !customer_held(tx, account, customer).await?
        {
            return Ok(BillingOutcome::CustomerGone);
        }
        let (charge, is_ours) = outcome::record(tx, &self.outcome).await?;
        let of_charge = if self.approved { EventType::ChargeCaptured } else { EventType::ChargeFailed };
        let unpaid = |event| Ok(BillingOutcome::Unpaid(Box::new(charge.clone()), event));
        if !is_ours {
            return unpaid(of_charge);
        }
        // Its plan may have been deleted while a renewal of a cancelled one was under way: the charge stands alone.
        let Some(row) = charged(tx, account, charge.id).await? else { return unpaid(of_charge) };
        if self.approved {
            let plan = plan_of(tx, &row).await?;
            let (subscription, event) = self.paid(tx, &row, &plan).await?;
            return Ok(BillingOutcome::Paid(Box::new(subscription), event));
        }
        if renewal {
            self.refused(tx, &row).await?;
            return unpaid(EventType::SubscriptionRenewalFailed);
        }
        let_go(tx, row).await?;
        unpaid(of_charge)
    }

    async fn paid(
        &self,
        tx: &Tx,
        before: &subscription::Model,
        plan: &plan::Model,
    ) -> Result<(Subscription, Option<EventType>), Error> {
        let (step, after) = if self.row.origin == Origin::Renewal {
            let step = next(before.state, SubscriptionAction::Renew)?;
            (step, renewed(before, step, plan))
        } else if before.state == SubscriptionState::Starting {
            let step = next(before.state, starts(before))?;
            tx.count(before.account_id, Counted::Subscriptions, 1);
            (step, continue_interval(before, step, plan))
        } else {
            let step = next(before.state, SubscriptionAction::Reactivate)?;
            plans::count::ceased(tx, before.account_id, before.plan_id).await?;
            (step, restarted(before, step, plan, self.row.created_at))
        };
        let bill = Bill::paid(plan, after.interval_number, self.row.amount);
        entries::record(tx, &after, plan, &bill, self.row.id, self.now);
        let subscription = put(tx, before, after, step.emits, self.now).await?;
        if let Some(claim) = &self.claim {
            let answer = claim.answer(&subscription)?;
            idempotency::store_response(tx, &self.vault, before.account_id, claim.hash(), &answer);
        }
        Ok((subscription, step.emits))
    }

    /// The bill is tried again later, or the subscription ends.
    async fn refused(&self, tx: &Tx, row: &subscription::Model) -> Result<(), Error> {
        let plan = plan_of(tx, row).await?;
        let was_due = row.next_billing_at.is_some();
        let step = next(row.state, SubscriptionAction::Refuse)?;
        let after = record_failure(row, &plan, self.now);
        tell(tx, after.clone(), step.emits, self.now)?;
        if was_due && after.next_billing_at.is_none() {
            let step = next(after.state, SubscriptionAction::Cancel)?;
            let over = closed(&after, step, self.now);
            return put(tx, &after, over, step.emits, self.now).await.map(drop);
        }
        store(tx, &after).await
    }
}

/// How one begins whose row says with what.
pub(super) fn starts(row: &subscription::Model) -> SubscriptionAction {
    if row.interval_number == 0 { SubscriptionAction::StartTrial } else { SubscriptionAction::Start }
}

/// Nothing was charged: a subscription that was to begin has never been, one that was to be reactivated stays as it is.
async fn let_go(tx: &Tx, row: subscription::Model) -> Result<(), Error> {
    if row.state == SubscriptionState::Starting {
        let gone = subscription::Entity::delete_many()
            .filter(Column::AccountId.eq(row.account_id))
            .filter(Column::Id.eq(row.id));
        gone.exec(tx).await?;
        plans::count::moved(tx, row.account_id, row.plan_id, Some(row.state), None).await?;
        return Ok(());
    }
    plans::count::ceased(tx, row.account_id, row.plan_id).await?;
    store(tx, &subscription::Model { charge_id: None, ..row }).await
}
