//! Parameters of plans (specification, Plans), in the order of its lists.

use entity::plan::{CustomerPermission, IntervalUnit};
use macros::params;

use crate::limits::{NAME_LENGTH_MAX, PLAN_INTERVAL_MAX, PLAN_INTERVALS_MAX};
use crate::params::rules;

/// A plan to be made.
#[params]
pub struct NewPlan {
    /// Need not be unique.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Coffee plan")]
    pub name: String,
    /// For each interval, in the currency's base unit: 0, or at least the currency's minimum.
    #[validate(range(min = 0))]
    #[schema(example = 1000)]
    pub amount: i64,
    /// ISO 4217 code; AUD if absent.
    #[schema(example = "AUD")]
    pub currency: Option<String>,
    /// The length of an interval, in interval_unit.
    #[validate(range(min = 1, max = PLAN_INTERVAL_MAX))]
    #[schema(example = 1)]
    pub interval: i64,
    /// `day`, `week`, `month` or `year`.
    #[schema(value_type = String, example = "month")]
    pub interval_unit: IntervalUnit,
    /// How many intervals are billed; 0 (default) is no limit.
    #[validate(range(min = 0, max = PLAN_INTERVALS_MAX))]
    pub intervals: Option<i64>,
    /// Charged once, with the first interval: 0 (default), or at least the currency's minimum.
    #[validate(range(min = 0))]
    pub setup_amount: Option<i64>,
    /// Charged for the trial: 0 (default), or at least the currency's minimum.
    #[validate(range(min = 0))]
    pub trial_amount: Option<i64>,
    /// The length of the trial, in trial_interval_unit; 0 (default) is no trial.
    #[validate(range(min = 0, max = PLAN_INTERVAL_MAX))]
    pub trial_interval: Option<i64>,
    /// `day`, `week`, `month` or `year`; needed for a trial.
    #[schema(value_type = Option<String>)]
    pub trial_interval_unit: Option<IntervalUnit>,
    /// Empty, or `cancel` (default).
    #[schema(value_type = Option<Vec<String>>)]
    pub customer_permissions: Option<Vec<CustomerPermission>>,
}

/// Changes of a plan; absent parameters stay.
#[params]
pub struct PlanChanges {
    /// Need not be unique; may not be cleared.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::not_blank"))]
    pub name: Option<String>,
    /// Empty, or `cancel`.
    #[schema(value_type = Option<Vec<String>>)]
    pub customer_permissions: Option<Vec<CustomerPermission>>,
}
