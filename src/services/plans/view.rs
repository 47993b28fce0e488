//! Plan (specification, Plan).

use entity::plan::{self, CustomerPermission, IntervalUnit};
use entity::{Currency, PlanToken, Timestamp, string_enum};
use macros::view;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// What customers are billed, and how often.
#[view]
pub struct Plan {
    /// The plan's token, `plan_...`.
    token: PlanToken,
    /// The name of the plan, which need not be unique.
    #[schema(example = "Coffee plan")]
    name: String,
    /// What each interval costs, in the currency's base unit.
    #[schema(example = 1000)]
    amount: i64,
    /// What is charged once, with the first interval, in the currency's base unit.
    #[schema(example = 0)]
    setup_amount: i64,
    /// What the trial costs, in the currency's base unit.
    #[schema(example = 0)]
    trial_amount: i64,
    /// The currency of the amounts, an ISO 4217 code.
    currency: Currency,
    /// The length of an interval, in units of `interval_unit`.
    #[schema(example = 1)]
    interval: i32,
    /// The number of billed intervals; 0 means no limit.
    #[schema(example = 0)]
    intervals: i32,
    /// The length of the trial, in units of `trial_interval_unit`; 0 means no trial.
    #[schema(example = 0)]
    trial_interval: i32,
    /// The unit of `interval`.
    interval_unit: IntervalUnit,
    /// The unit of `trial_interval`, as it was sent: without a trial it means nothing, and is empty if it was not sent.
    #[schema(value_type = TrialIntervalUnit)]
    trial_interval_unit: &'static str,
    /// What customers may do with their subscriptions.
    customer_permissions: Vec<CustomerPermission>,
    /// The time of the plan's creation.
    created_at: Timestamp,
    /// The number of subscriptions by state.
    subscription_counts: SubscriptionCounts,
}

/// The schema of a trial's unit: empty without a trial.
pub struct TrialIntervalUnit;

impl ToSchema for TrialIntervalUnit {}

impl PartialSchema for TrialIntervalUnit {
    fn schema() -> RefOr<Schema> {
        string_enum::or_empty::<IntervalUnit>("The unit of a trial's length, or empty.").into()
    }
}

/// The number of a plan's subscriptions by state.
#[view]
pub struct SubscriptionCounts {
    /// Subscriptions whose trial runs.
    trial: i64,
    /// Subscriptions that are billed interval by interval.
    active: i64,
    /// Subscriptions that end with the paid interval.
    cancelling: i64,
    /// Subscriptions that are billed no more.
    cancelled: i64,
}

impl From<plan::Model> for Plan {
    fn from(row: plan::Model) -> Self {
        Self {
            token: row.id,
            name: row.name,
            amount: row.amount,
            setup_amount: row.setup_amount,
            trial_amount: row.trial_amount,
            currency: row.currency,
            interval: row.interval,
            intervals: row.intervals,
            trial_interval: row.trial_interval,
            interval_unit: row.interval_unit,
            trial_interval_unit: row.trial_interval_unit.map_or("", IntervalUnit::code),
            customer_permissions: row
                .customer_may_cancel
                .then_some(CustomerPermission::Cancel)
                .into_iter()
                .collect(),
            created_at: row.created_at,
            subscription_counts: SubscriptionCounts {
                trial: row.trial,
                active: row.active,
                cancelling: row.cancelling,
                cancelled: row.cancelled,
            },
        }
    }
}
