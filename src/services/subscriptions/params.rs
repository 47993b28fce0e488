//! Parameters of subscriptions (specification, Subscriptions), in the order of its lists.

use macros::params;

use crate::params::Patch;

/// A subscription to be made.
#[params]
pub struct NewSubscription {
    /// The plan.
    pub plan_token: String,
    /// The customer.
    pub customer_token: String,
    /// Whether the plan's setup fee is charged (default).
    pub include_setup_fee: Option<bool>,
    /// A card of the customer's that pays; the primary card if absent.
    pub card_token: Option<String>,
}

/// A subscription to be made to the plan of the path.
#[params]
pub struct NewPlanSubscription {
    /// The customer.
    pub customer_token: String,
    /// A card of the customer's that pays; the primary card if absent.
    pub card_token: Option<String>,
    /// Whether the plan's setup fee is charged (default).
    pub include_setup_fee: Option<bool>,
}

/// A change of a subscription.
#[params]
pub struct SubscriptionChanges {
    /// A card of the customer's that pays; null, or blank, is the primary card.
    // Null is a value here, and absence is a fault.
    #[schema(required)]
    pub card_token: Patch<String>,
}

/// A reactivation.
#[params]
pub struct Reactivation {
    /// Whether the plan's setup fee is charged (default), if anything is charged.
    pub include_setup_fee: Option<bool>,
}
