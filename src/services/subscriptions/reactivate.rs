//! PUT /subscriptions/{token}/reactivate: a paid interval goes on; after its end a new interval begins now.

use entity::charge::{self, Origin};
use entity::{Listed, plan, subscription};
use store::Tx;

use super::bill::at_billing_time;
use super::course::{Bill, continue_interval, restarted};
use super::create::{order, rate_of};
use super::find::by_token;
use super::record_outcome::pay;
use super::rows::{lock_customer, lock_subscription, put};
use super::state::{SubscriptionAction, SubscriptionTransition, next};
use crate::error::{Error, ErrorCode};
use crate::params::Params;
use crate::services::context::{Account, Caller, Ctx};
use crate::services::payments::creation::{PaymentIntent, record_row};
use crate::services::payments::order::{ChargeIntent, ChargeOrder};
use crate::services::subscriptions::params::Reactivation;
use crate::services::subscriptions::view::Subscription;
use crate::services::{cards, customers, idempotency, plans};

/// Reactivates a cancelled subscription. May take as long as the acquirer.
///
/// Refusals, first match wins: `not_found`, `invalid_resource` (400), `invalid_state` (not cancelled, a charge in flight,
/// no interval left, its customer deleted); then the acquirer's: a decline, or `gateway_error`, which change nothing.
pub async fn reactivate(
    ctx: &Ctx,
    caller: &Caller,
    token: &str,
    params: Params<Reactivation>,
) -> Result<Subscription, Error> {
    let caller = &at_billing_time(ctx, caller);
    let account = &caller.account;
    let row = by_token(ctx.store.read(), account, token).await?.ok_or(ErrorCode::NotFound)?;
    let params = params.valid().map_err(Error::subscription)?;
    let plan = plan::Entity::at(row.account_id, row.plan_id).one(ctx.store.read()).await?;
    // Deleted meanwhile.
    let plan = plan.ok_or(ErrorCode::NotFound)?;
    let customer = customers::find::with_primary(ctx, account, row.customer_id).await?;
    let (customer, primary) = customer.ok_or(ErrorCode::InvalidState)?;
    let unit = ReactivateUnit { row, plan, account: account.clone() };
    unit.step(&unit.row)?;
    let bill = Bill::reactivated(&unit.row, &unit.plan, params.include_setup_fee.unwrap_or(true));
    if unit.is_paid(&unit.row) || bill.sum() == 0 {
        return idempotency::write(ctx, caller, unit, async |tx, unit| unit.free(tx).await).await;
    }
    let named = match unit.row.card_id {
        Some(card) => cards::find(ctx, account, card).await?,
        None => None,
    };
    let payer = (&unit.plan, customer, named.unwrap_or(primary));
    let rate = rate_of(ctx, payer.0).await?;
    let order = order(ctx, account, Origin::Subscription, (&bill, rate), payer).await?;
    let ChargeOrder { intent: charge, call } = order.under_key(caller);
    pay(ctx, caller, ReactivateIntent { unit, charge }, call, ErrorCode::InvalidState).await
}

struct ReactivateUnit {
    row: subscription::Model,
    plan: plan::Model,
    account: Account,
}

impl ReactivateUnit {
    /// Returns whether the paid interval, or the trial, has not ended.
    fn is_paid(&self, row: &subscription::Model) -> bool {
        self.account.now < row.finishes_at
    }

    fn step(&self, row: &subscription::Model) -> Result<SubscriptionTransition, Error> {
        let in_trial = row.interval_number == 0 && self.is_paid(row);
        let step = next(
            row.state,
            if in_trial { SubscriptionAction::ReactivateTrial } else { SubscriptionAction::Reactivate },
        )?;
        let used_up = self.plan.intervals > 0 && row.interval_number >= self.plan.intervals;
        if used_up || row.charge_id.is_some() {
            return Err(ErrorCode::InvalidState.into());
        }
        Ok(step)
    }

    /// Locks the row and returns it, if it can still be reactivated as it could when it was read.
    async fn lock(&self, tx: &Tx) -> Result<(subscription::Model, SubscriptionTransition), Error> {
        let row = lock_subscription(tx, &self.row).await?.ok_or(ErrorCode::NotFound)?;
        let step = self.step(&row)?;
        // Billed meanwhile, or reactivated and cancelled again: the bill is of another interval.
        if row.finishes_at != self.row.finishes_at {
            return Err(ErrorCode::InvalidState.into());
        }
        Ok((row, step))
    }

    /// Reactivates it without a charge: with the interval that is paid, or with one that costs nothing.
    async fn free(&self, tx: &Tx) -> Result<Subscription, Error> {
        if !lock_customer(tx, self.row.account_id, self.row.customer_id).await? {
            return Err(ErrorCode::InvalidState.into());
        }
        let (before, step) = self.lock(tx).await?;
        // A plan whose subscriptions are all cancelled may be deleted at this moment.
        if !plans::count::lock_plan(tx, before.account_id, before.plan_id).await? {
            return Err(ErrorCode::NotFound.into());
        }
        let after = if self.is_paid(&before) {
            continue_interval(&before, step, &self.plan)
        } else {
            restarted(&before, step, &self.plan, self.account.now)
        };
        put(tx, &before, after, step.emits, self.account.now).await
    }
}

/// Reserves the subscription in the intent of its charge: no other charge of it is made meanwhile, and its plan is not
/// deleted.
struct ReactivateIntent {
    unit: ReactivateUnit,
    charge: Box<ChargeIntent>,
}

impl PaymentIntent for ReactivateIntent {
    async fn record(&self, tx: &Tx) -> Result<Option<charge::Model>, Error> {
        let (seen, _) = self.unit.lock(tx).await?;
        record_row(tx, &self.charge).await?;
        if !plans::count::count_charge_start(tx, seen.account_id, seen.plan_id).await? {
            return Err(ErrorCode::NotFound.into());
        }
        let mut row = seen.clone();
        row.attempt += 1;
        row.charge_id = Some(self.charge.row.id);
        tx.update(&seen, &row).await?;
        Ok(Some(self.charge.row.clone()))
    }
}
