//! Subscription, and the entries of its ledger (specification, Subscription).

use entity::subscription::{self, SubscriptionState};
use entity::subscription_entry::{self, Annotation, Direction};
use entity::{CardToken, Currency, CustomerToken, PlanToken, SubscriptionToken, Timestamp};
use macros::view;

/// A customer's subscription to a plan.
#[view(of(subscription::Model))]
pub struct Subscription {
    /// The subscription's token, `sub_...`.
    token: SubscriptionToken,
    /// How far the subscription is.
    state: SubscriptionState,
    /// The time of the next bill; null if there is none.
    #[shows(row.next_billing_at)]
    next_billing_date: Option<Timestamp>,
    /// The beginning of the interval that runs.
    #[shows(row.started_at)]
    active_interval_started_at: Timestamp,
    /// The end of the interval that runs.
    #[shows(row.finishes_at)]
    active_interval_finishes_at: Timestamp,
    /// The time of the cancellation; null unless there was one.
    cancelled_at: Option<Timestamp>,
    /// The time of the subscription's creation.
    created_at: Timestamp,
    /// The plan's token, `plan_...`.
    plan_token: PlanToken,
    /// The customer's token, `cus_...`.
    customer_token: CustomerToken,
    /// The token of the card that pays, `card_...`; null means the customer's primary card.
    card_token: Option<CardToken>,
}

/// An entry in the ledger of a subscription: what was billed, and what was paid.
#[view(of(subscription_entry::Model))]
pub struct SubscriptionEntry {
    /// The time of the entry.
    created_at: Timestamp,
    /// Whether money was charged or used.
    #[shows(row.annotation.direction())]
    r#type: Direction,
    /// The amount in the currency's base unit.
    #[schema(example = 1000)]
    amount: i64,
    /// The plan's currency, an ISO 4217 code.
    currency: Currency,
    /// The reason of the entry.
    annotation: Annotation,
}
