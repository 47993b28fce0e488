//! Subscription, and the entries of its ledger (specification, Subscription).

use entity::subscription::{self, SubscriptionState};
use entity::subscription_entry::{self, Annotation, Direction};
use entity::{CardToken, Currency, CustomerToken, PlanToken, SubscriptionToken, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// A customer's subscription to a plan.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Subscription {
    /// `sub_...`
    #[schema(value_type = String, example = "sub_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: SubscriptionToken,
    /// `trial`, `active`, `cancelling` or `cancelled`.
    #[schema(value_type = String, example = "active")]
    state: SubscriptionState,
    /// The time of the next bill.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    next_billing_date: Option<Timestamp>,
    /// The beginning of the present interval.
    #[schema(value_type = String, format = DateTime)]
    active_interval_started_at: Timestamp,
    /// The end of the present interval.
    #[schema(value_type = String, format = DateTime)]
    active_interval_finishes_at: Timestamp,
    /// The time of its cancellation.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    cancelled_at: Option<Timestamp>,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The token of its plan.
    #[schema(value_type = String, example = "plan_AZqYv3rVcBKUQ1mHn7tKRw")]
    plan_token: PlanToken,
    /// The token of its customer.
    #[schema(value_type = String, example = "cus_AZqYv3rVcBKUQ1mHn7tKRw")]
    customer_token: CustomerToken,
    /// The card that pays; null means the customer's primary card.
    #[schema(value_type = Option<String>, required)]
    card_token: Option<CardToken>,
}

impl From<subscription::Model> for Subscription {
    fn from(row: subscription::Model) -> Self {
        Self {
            token: row.id,
            state: row.state,
            next_billing_date: row.next_billing_at,
            active_interval_started_at: row.started_at,
            active_interval_finishes_at: row.finishes_at,
            cancelled_at: row.cancelled_at,
            created_at: row.created_at,
            plan_token: row.plan_id,
            customer_token: row.customer_id,
            card_token: row.card_id,
        }
    }
}

/// An entry of a subscription's ledger.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SubscriptionEntry {
    /// The time of the entry.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// `credit` or `debit`.
    #[schema(value_type = String, example = "credit")]
    r#type: Direction,
    /// In the currency's base unit.
    #[schema(example = 1000)]
    amount: i64,
    /// ISO 4217 code.
    #[schema(value_type = String, min_length = 3, max_length = 3, example = "AUD")]
    currency: Currency,
    /// `charge_credit`, `interval_debit` or `setup_debit`.
    #[schema(value_type = String, example = "charge_credit")]
    annotation: Annotation,
}

impl From<subscription_entry::Model> for SubscriptionEntry {
    fn from(row: subscription_entry::Model) -> Self {
        Self {
            created_at: row.created_at,
            r#type: row.annotation.direction(),
            amount: row.amount,
            currency: row.currency,
            annotation: row.annotation,
        }
    }
}
