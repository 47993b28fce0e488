//! Plan (specification, Plan).

use entity::plan::{self, CustomerPermission, IntervalUnit};
use entity::{Currency, PlanToken, Timestamp};
use macros::view;

/// A recurring billing plan.
#[view]
pub struct Plan {
    /// `plan_...`
    token: PlanToken,
    /// The name, which need not be unique.
    #[schema(example = "Coffee plan")]
    name: String,
    /// The amount of each interval, in the currency's base unit.
    #[schema(example = 1000)]
    amount: i64,
    /// The setup fee, charged once, with the first interval.
    #[schema(example = 0)]
    setup_amount: i64,
    /// The amount of the trial.
    #[schema(example = 0)]
    trial_amount: i64,
    /// ISO 4217 code.
    currency: Currency,
    /// The length of an interval, in interval_unit.
    #[schema(example = 1)]
    interval: i32,
    /// The number of billed intervals; 0 means no limit.
    #[schema(example = 0)]
    intervals: i32,
    /// The length of the trial, in trial_interval_unit; 0 means no trial.
    #[schema(example = 0)]
    trial_interval: i32,
    /// `day`, `week`, `month` or `year`.
    #[schema(value_type = String, example = "month")]
    interval_unit: IntervalUnit,
    /// `day`, `week`, `month`, `year`, or empty.
    #[schema(example = "")]
    trial_interval_unit: &'static str,
    /// Empty, or `cancel`.
    #[schema(value_type = Vec<String>)]
    customer_permissions: Vec<CustomerPermission>,
    /// Creation time.
    created_at: Timestamp,
    /// The number of subscriptions by state.
    subscription_counts: SubscriptionCounts,
}

/// The number of a plan's subscriptions by state.
#[view]
pub struct SubscriptionCounts {
    /// In trial.
    trial: i64,
    /// Billed interval by interval.
    active: i64,
    /// Unsubscribed, until the paid interval ends.
    cancelling: i64,
    /// No longer billed.
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
