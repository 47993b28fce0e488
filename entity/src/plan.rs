//! Plans (specification, Plan; decisions 7).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, Currency, PlanToken, Timestamp};

/// One plan: what its subscriptions are billed, and how often.
///
/// How many subscriptions it has in each state is counted here, in the transaction that moves them, so deleting a plan
/// compares and sets one row.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "plans")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The plan's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: PlanToken,
    /// Need not be unique.
    pub name: String,
    /// For each interval, in the currency's base unit.
    pub amount: i64,
    /// Once, with the first interval.
    pub setup_amount: i64,
    /// For the trial.
    pub trial_amount: i64,
    /// Of all amounts.
    pub currency: Currency,
    /// The length of an interval, in `interval_unit`.
    pub interval: i32,
    /// Of `interval`.
    pub interval_unit: IntervalUnit,
    /// How many intervals are billed; 0 is no limit.
    pub intervals: i32,
    /// The length of the trial, in `trial_interval_unit`; 0 is no trial.
    pub trial_interval: i32,
    /// Of `trial_interval`; null where none was named.
    pub trial_interval_unit: Option<IntervalUnit>,
    /// Whether customers may unsubscribe.
    pub customer_may_cancel: bool,
    /// Subscriptions in state `trial`.
    pub trial: i64,
    /// Subscriptions in state `active`.
    pub active: i64,
    /// Subscriptions in state `cancelling`.
    pub cancelling: i64,
    /// Subscriptions in state `cancelled`.
    pub cancelled: i64,
    /// Charges under way that may make a subscription active: of those that begin, and of those reactivated.
    pub starting: i64,
    /// When it was deleted, by the wall clock. It goes with the last of its subscriptions; nobody sees either meanwhile.
    pub deleted_at: Option<Timestamp>,
    /// By the account's clock.
    pub created_at: Timestamp,
}

impl Model {
    /// What is billed again and again.
    pub fn interval(&self) -> Interval {
        Interval { length: self.interval, unit: self.interval_unit }
    }

    /// The trial, where there is one.
    pub fn trial_interval(&self) -> Option<Interval> {
        let unit = self.trial_interval_unit.filter(|_| self.trial_interval > 0)?;
        Some(Interval { length: self.trial_interval, unit })
    }
}

/// So many days, weeks, months or years.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// At least 1.
    pub length: i32,
    /// Of `length`.
    pub unit: IntervalUnit,
}

string_enum! {
    /// What intervals are counted in.
    pub enum IntervalUnit {
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
    /// What customers may do by themselves.
    pub enum CustomerPermission {
        /// Unsubscribe.
        Cancel "cancel",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
