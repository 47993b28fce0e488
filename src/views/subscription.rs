//! Subscription (specification, Subscription).

use entity::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// A customer's subscription to a plan.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Subscription {
    /// `sub_...`
    token: String,
    /// trial, active, cancelling or cancelled.
    state: String,
    /// When it is billed next.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    next_billing_date: Option<Timestamp>,
    /// When the present interval began.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    active_interval_started_at: Option<Timestamp>,
    /// When the present interval ends.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    active_interval_finishes_at: Option<Timestamp>,
    /// When it was cancelled.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    cancelled_at: Option<Timestamp>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Its plan.
    plan_token: String,
    /// Its customer.
    customer_token: String,
    /// The card that pays; null is the customer's primary card.
    #[schema(required)]
    card_token: Option<String>,
}
