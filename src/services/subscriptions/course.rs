//! The course of a subscription: pure functions from one row to the next. The verbs decide the time, and store the row.

use entity::subscription::{Model, SubscriptionState};
use entity::{CardToken, CustomerToken, SubscriptionToken, TimeSpan, Timestamp, plan};

use super::calendar::{after, is_retried};
use super::state::SubscriptionTransition;
use crate::limits::{RENEWAL_LATE, RENEWAL_RETRIES};

/// The amounts to pay for an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bill {
    /// The interval's number; 0 is the trial.
    pub number: i32,
    /// The price of the interval itself.
    pub interval_amount: i64,
    pub setup_amount: i64,
}

impl Bill {
    /// Makes the bill of the trial, or of an interval with or without the setup fee.
    fn new(plan: &plan::Model, number: i32, with_setup: bool) -> Self {
        if number == 0 {
            return Self { number, interval_amount: plan.trial_amount, setup_amount: 0 };
        }
        let setup_amount = if with_setup { plan.setup_amount } else { 0 };
        Self { number, interval_amount: plan.amount, setup_amount }
    }

    /// Makes the bill of a new subscription's first interval.
    pub fn first(row: &Model, plan: &plan::Model, include_setup_fee: bool) -> Self {
        Self::new(plan, row.interval_number, include_setup_fee)
    }

    /// Makes the bill of the next interval, when it is due.
    pub fn next(row: &Model, plan: &plan::Model) -> Self {
        Self::new(plan, row.interval_number + 1, row.setup_due)
    }

    /// Makes the bill of the next interval, which begins with a reactivation.
    pub fn reactivated(row: &Model, plan: &plan::Model, include_setup_fee: bool) -> Self {
        Self::new(plan, row.interval_number + 1, include_setup_fee)
    }

    /// Splits the amount of a charge: a trial, or an interval and the rest as the setup fee.
    pub fn paid(plan: &plan::Model, number: i32, amount: i64) -> Self {
        let interval_amount = if number == 0 { amount } else { plan.amount };
        Self { number, interval_amount, setup_amount: amount - interval_amount }
    }

    /// Returns the amount to charge; zero makes no charge.
    pub fn sum(&self) -> i64 {
        self.interval_amount + self.setup_amount
    }
}

/// The choices of a new subscription.
pub struct Subscriber {
    pub id: SubscriptionToken,
    pub customer: CustomerToken,
    /// The card that pays, if it is not the primary one.
    pub card: Option<CardToken>,
    /// Whether the setup fee is charged.
    pub include_setup_fee: bool,
}

/// Makes a subscription in state `starting`: in its trial if the plan has one, else in its first interval.
pub fn start(plan: &plan::Model, subscriber: &Subscriber, now: Timestamp) -> Model {
    let (number, finishes_at, anchor_at) = match plan.trial_interval() {
        Some(trial) => (0, after(now, trial, 1), after(now, trial, 1)),
        None => (1, after(now, plan.interval(), 1), now),
    };
    Model {
        account_id: plan.account_id,
        id: subscriber.id,
        state: SubscriptionState::Starting,
        plan_id: plan.id,
        customer_id: subscriber.customer,
        card_id: subscriber.card,
        attempt: 0,
        charge_id: None,
        interval_number: number,
        started_at: now,
        finishes_at,
        anchor_number: 1,
        anchor_at,
        setup_due: number == 0 && subscriber.include_setup_fee,
        failures: 0,
        first_failed_at: None,
        next_billing_at: None,
        ends_at: None,
        cancelled_at: None,
        created_at: now,
    }
}

/// Continues with the current interval, which is paid.
pub fn continue_interval(row: &Model, step: SubscriptionTransition, plan: &plan::Model) -> Model {
    let is_last = plan.intervals > 0 && row.interval_number >= plan.intervals;
    let (next_billing_at, ends_at) = match step.to {
        SubscriptionState::Trial | SubscriptionState::Active if !is_last => (Some(row.finishes_at), None),
        SubscriptionState::Trial | SubscriptionState::Active | SubscriptionState::Cancelling => {
            (None, Some(row.finishes_at))
        }
        SubscriptionState::Starting | SubscriptionState::Cancelled => (None, None),
    };
    let cancelled_at = row.cancelled_at.filter(|_| step.to == SubscriptionState::Cancelled);
    Model {
        state: step.to,
        failures: 0,
        first_failed_at: None,
        next_billing_at,
        ends_at,
        cancelled_at,
        charge_id: None,
        ..*row
    }
}

/// Begins the next interval, which is paid. It starts when the current one ended, however long ago.
pub fn next_interval(row: &Model, step: SubscriptionTransition, plan: &plan::Model) -> Model {
    let number = row.interval_number + 1;
    let since_anchor = number - row.anchor_number;
    let next = Model {
        interval_number: number,
        started_at: row.finishes_at,
        finishes_at: after(row.anchor_at, plan.interval(), since_anchor + 1),
        setup_due: false,
        ..*row
    };
    continue_interval(&next, step, plan)
}

/// Begins the next interval now, which is paid; later ones are counted from now.
pub fn restarted(row: &Model, step: SubscriptionTransition, plan: &plan::Model, now: Timestamp) -> Model {
    let number = row.interval_number + 1;
    let next = Model {
        interval_number: number,
        started_at: now,
        finishes_at: after(now, plan.interval(), 1),
        anchor_number: number,
        anchor_at: now,
        setup_due: false,
        ..*row
    };
    continue_interval(&next, step, plan)
}

/// Records a failed bill of the next interval: it is billed again at `next_billing_at`, or, without one, no more.
pub fn record_failure(row: &Model, plan: &plan::Model, now: Timestamp) -> Model {
    let failures = row.failures + 1;
    let first_failed_at = row.first_failed_at.unwrap_or(now);
    let before = usize::try_from(row.failures).unwrap_or(usize::MAX);
    let pause = RENEWAL_RETRIES.get(before).filter(|_| is_retried(plan.interval()));
    let passed = before.checked_sub(1).and_then(|last| RENEWAL_RETRIES.get(last)).unwrap_or(&TimeSpan::ZERO);
    let retry = pause.map(|pause| {
        // A server that was down retries late, and leaves the customer as much time until the next retry as a punctual one.
        let due = row.next_billing_at.filter(|due| now - *due < RENEWAL_LATE).unwrap_or(now);
        Ord::max(first_failed_at, due - *passed) + *pause
    });
    Model {
        failures,
        first_failed_at: Some(first_failed_at),
        // Cancelled meanwhile: there is no next bill.
        next_billing_at: row.next_billing_at.and(retry),
        charge_id: None,
        ..*row
    }
}

/// Ends billing: at once, or after the paid interval.
pub fn end_billing(row: &Model, step: SubscriptionTransition, now: Timestamp) -> Model {
    Model {
        state: step.to,
        next_billing_at: None,
        ends_at: (step.to == SubscriptionState::Cancelling).then_some(row.finishes_at),
        cancelled_at: (step.to == SubscriptionState::Cancelled).then_some(now),
        ..*row
    }
}
