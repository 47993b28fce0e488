//! POST /plans.

use entity::counter::Counted;
use entity::event::EventType;
use entity::plan;
use entity::{Currency, Rate};

use crate::error::Error;
use crate::params::{FieldErrors, Params};
use crate::services::context::{Account, Caller, Context};
use crate::services::payments::order::amount_range;
use crate::services::plans::params::NewPlan;
use crate::services::plans::view::Plan;
use crate::services::{acquirer_lookup, counts, events, idempotency};

/// Creates a plan.
///
/// Refusals: `service_unavailable` if the acquirer returns no rate; `unprocessable_entity`.
pub async fn create(ctx: &Context, caller: &Caller, params: Params<NewPlan>) -> Result<Plan, Error> {
    let Params { value: new_plan, mut faults } = params;
    let currency = acquirer_lookup::accepted_currency(ctx, new_plan.currency.as_deref()).await?;
    match currency {
        Some(currency) => check_amounts(&caller.account, &new_plan, currency, &mut faults),
        None if !faults.has("currency") => faults.add("currency", "is not a supported currency"),
        None => {}
    }
    let (Some((currency, _)), true) = (currency, faults.is_empty()) else { return Err(Error::plan(faults)) };
    let row = row(ctx, &caller.account, new_plan, currency)?;
    idempotency::write(ctx, caller, row, async |tx, row| {
        tx.append(row);
        counts::add(tx, row.account_id, Counted::Plans, 1);
        let plan = Plan::from(row.clone());
        events::record(tx, row.account_id, row.created_at, EventType::PlanCreated, &plan)?;
        Ok(plan)
    })
    .await
}

/// Checks that each amount is zero or can be charged, and so can the largest bill, which is the first one.
fn check_amounts(
    account: &Account,
    new_plan: &NewPlan,
    (currency, rate): (Currency, Rate),
    faults: &mut FieldErrors,
) {
    let (min, max) = amount_range(account, currency, rate).into_inner();
    let setup_amount = new_plan.setup_amount.unwrap_or_default();
    // The first bill is the sum of both. An amount that is invalid by itself does not limit the other one.
    let left = if faults.has("amount") || new_plan.amount > max { max } else { max - new_plan.amount };
    let amounts = [
        ("amount", new_plan.amount, max),
        ("setup_amount", setup_amount, left),
        ("trial_amount", new_plan.trial_amount.unwrap_or_default(), max),
    ];
    for (param, amount, max) in amounts {
        if amount != 0 {
            faults.check_range(param, amount, &(min..=max));
        }
    }
}

fn row(
    ctx: &Context,
    account: &Account,
    new_plan: NewPlan,
    currency: Currency,
) -> Result<plan::Model, Error> {
    let small = |number: Option<i64>| {
        i32::try_from(number.unwrap_or_default()).map_err(|_| Error::internal("an interval that is too long"))
    };
    Ok(plan::Model {
        account_id: account.id(),
        id: ctx.ids.token(),
        name: new_plan.name,
        amount: new_plan.amount,
        setup_amount: new_plan.setup_amount.unwrap_or_default(),
        trial_amount: new_plan.trial_amount.unwrap_or_default(),
        currency,
        interval: small(Some(new_plan.interval))?,
        interval_unit: new_plan.interval_unit,
        intervals: small(new_plan.intervals)?,
        trial_interval: small(new_plan.trial_interval)?,
        trial_interval_unit: new_plan.trial_interval_unit,
        customer_may_cancel: new_plan.customer_permissions.is_none_or(|allowed| !allowed.is_empty()),
        trial: 0,
        active: 0,
        cancelling: 0,
        cancelled: 0,
        starting: 0,
        deleted_at: None,
        created_at: account.now,
    })
}
