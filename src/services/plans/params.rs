//! Parameters of plans (specification, Plans), in the order of its lists.

use entity::plan::{CustomerPermission, IntervalUnit};
use macros::params;
use validator::ValidationError;

use crate::limits::{NAME_LENGTH_MAX, PLAN_INTERVAL_MAX, PLAN_INTERVALS_MAX};
use crate::params::rules;
use crate::params::values::BLANK;
use crate::services::plans::view::TrialIntervalUnit;

/// A plan to create.
#[params]
#[validate(schema(function = "is_trial_measured", skip_on_field_errors = false))]
pub struct NewPlan {
    /// The name of the plan, which need not be unique.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Coffee plan")]
    pub name: String,
    /// What each interval costs, in the currency's base unit: 0, or at least the currency's least amount.
    #[validate(range(min = 0))]
    #[schema(example = 1000)]
    pub amount: i64,
    /// The currency of the amounts, an ISO 4217 code; AUD if absent.
    #[schema(min_length = 3, max_length = 3, example = "AUD")]
    pub currency: Option<String>,
    /// The length of an interval, in units of `interval_unit`.
    #[validate(range(min = 1, max = PLAN_INTERVAL_MAX))]
    #[schema(example = 1)]
    pub interval: i64,
    /// The unit of `interval`.
    pub interval_unit: IntervalUnit,
    /// The number of billed intervals; 0 means no limit, as does no number.
    #[validate(range(min = 0, max = PLAN_INTERVALS_MAX))]
    pub intervals: Option<i64>,
    /// What is charged once, with the first interval, in the currency's base unit: 0, or at least the currency's least amount; 0 if absent.
    #[validate(range(min = 0))]
    pub setup_amount: Option<i64>,
    /// What the trial costs, in the currency's base unit: 0, or at least the currency's least amount; 0 if absent.
    #[validate(range(min = 0))]
    pub trial_amount: Option<i64>,
    /// The length of the trial, in units of `trial_interval_unit`; there is no trial if it is 0 or absent.
    #[validate(range(min = 0, max = PLAN_INTERVAL_MAX))]
    pub trial_interval: Option<i64>,
    /// The unit of `trial_interval`; required for a trial; without one it may be absent, and means nothing.
    #[schema(value_type = Option<TrialIntervalUnit>)]
    pub trial_interval_unit: Option<IntervalUnit>,
    /// What customers may do with their subscriptions; they may `cancel` if it is absent.
    pub customer_permissions: Option<Vec<CustomerPermission>>,
}

fn is_trial_measured(new: &NewPlan) -> Result<(), ValidationError> {
    let has_trial = new.trial_interval.is_some_and(|length| length > 0);
    rules::check_all(!has_trial || new.trial_interval_unit.is_some(), "trial_interval_unit", BLANK, &[])
}

/// Changes of a plan. Absent fields stay.
#[params]
pub struct PlanChanges {
    /// The new name, which may not be empty; the old one stays if it is absent.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::not_blank"))]
    pub name: Option<String>,
    /// What customers may do with their subscriptions; nothing changes if it is absent.
    pub customer_permissions: Option<Vec<CustomerPermission>>,
}
