//! Subscription, and the entries of its ledger (specification, Subscription).

use entity::subscription::{self, SubscriptionState};
use entity::subscription_entry::{self, Annotation, Direction};
use entity::{CardToken, Currency, CustomerToken, PlanToken, SubscriptionToken, Timestamp};
use macros::view;

/// A customer's subscription to a plan.
#[view(of(subscription::Model))]
pub struct Subscription {
    /// `sub_...`
    token: SubscriptionToken,
    /// `trial`, `active`, `cancelling` or `cancelled`.
    #[schema(value_type = String, example = "active")]
    state: SubscriptionState,
    /// The time of the next bill.
    #[shows(row.next_billing_at)]
    next_billing_date: Option<Timestamp>,
    /// The beginning of the present interval.
    #[shows(row.started_at)]
    active_interval_started_at: Timestamp,
    /// The end of the present interval.
    #[shows(row.finishes_at)]
    active_interval_finishes_at: Timestamp,
    /// The time of its cancellation.
    cancelled_at: Option<Timestamp>,
    /// Creation time.
    created_at: Timestamp,
    /// The token of its plan.
    plan_token: PlanToken,
    /// The token of its customer.
    customer_token: CustomerToken,
    /// The card that pays; null means the customer's primary card.
    card_token: Option<CardToken>,
}

/// An entry of a subscription's ledger.
#[view(of(subscription_entry::Model))]
pub struct SubscriptionEntry {
    /// The time of the entry.
    created_at: Timestamp,
    /// `credit` or `debit`.
    #[schema(value_type = String, example = "credit")]
    #[shows(row.annotation.direction())]
    r#type: Direction,
    /// In the currency's base unit.
    #[schema(example = 1000)]
    amount: i64,
    /// ISO 4217 code.
    currency: Currency,
    /// `charge_credit`, `interval_debit` or `setup_debit`.
    #[schema(value_type = String, example = "charge_credit")]
    annotation: Annotation,
}
