//! Plans (specification, Plan).

use crate::{AccountToken, Currency, PlanToken, Timestamp};

table! {
    /// One plan: the price and interval of its subscriptions.
    ///
    /// It counts its subscriptions by state, in the transaction that moves them, so the deletion of a plan compares and sets
    /// one row.
    "plans" [account_id: AccountToken, id: PlanToken] {
        /// Need not be unique.
        name: String,
        /// For each interval.
        amount: i64,
        /// Once, with the first interval.
        setup_amount: i64,
        /// For the trial.
        trial_amount: i64,
        currency: Currency,
        /// The length of an interval, in `interval_unit`.
        interval: i32,
        interval_unit: IntervalUnit,
        /// The number of intervals billed; 0 is no limit.
        intervals: i32,
        /// The length of the trial, in `trial_interval_unit`; 0 is no trial.
        trial_interval: i32,
        trial_interval_unit: Option<IntervalUnit>,
        customer_may_cancel: bool,
        /// The number of subscriptions in the state of this name, as the next three.
        trial: i64,
        active: i64,
        cancelling: i64,
        cancelled: i64,
        /// The number of charges in flight that may start or reactivate a subscription.
        starting: i64,
        /// The deletion, by the wall clock. The row goes with the last of its subscriptions; meanwhile the API shows none of them.
        deleted_at: Option<Timestamp>,
        created_at: Timestamp,
    }
}

impl Model {
    /// Returns the interval.
    pub fn interval(&self) -> Interval {
        Interval { length: self.interval, unit: self.interval_unit }
    }

    /// Returns the length of the trial, if there is one.
    pub fn trial_interval(&self) -> Option<Interval> {
        let unit = self.trial_interval_unit.filter(|_| self.trial_interval > 0)?;
        Some(Interval { length: self.trial_interval, unit })
    }
}

/// A number of days, weeks, months or years.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// At least 1.
    pub length: i32,
    /// The unit of `length`.
    pub unit: IntervalUnit,
}

string_enum! {
    /// The unit of an interval.
    pub closed enum IntervalUnit {
        /// 24 hours.
        Day "day",
        /// Seven days.
        Week "week",
        /// The same day of the next calendar month.
        Month "month",
        /// Twelve months.
        Year "year",
    }
}

string_enum! {
    /// What customers may do with their subscriptions to a plan.
    pub closed enum CustomerPermission {
        /// Customers may unsubscribe.
        Cancel "cancel",
    }
}
