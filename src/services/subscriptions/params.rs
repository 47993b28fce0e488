//! Parameters of subscriptions (specification, Subscriptions), in the order of its lists.

use macros::params;

use crate::params::Patch;

/// A subscription to create.
#[params]
pub struct NewSubscription {
    /// The token of the plan, `plan_...`.
    pub plan_token: String,
    /// The token of the customer, `cus_...`.
    pub customer_token: String,
    /// Whether the plan's setup fee is charged; it is if this is absent.
    pub include_setup_fee: Option<bool>,
    /// The token of the customer's card that pays, `card_...`; the primary card if absent.
    pub card_token: Option<String>,
}

/// A subscription to create for the plan of the path.
#[params]
pub struct NewPlanSubscription {
    /// The token of the customer, `cus_...`.
    pub customer_token: String,
    /// The token of the customer's card that pays, `card_...`; the primary card if absent.
    pub card_token: Option<String>,
    /// Whether the plan's setup fee is charged; it is if this is absent.
    pub include_setup_fee: Option<bool>,
}

/// Changes of a subscription.
#[params]
pub struct SubscriptionChanges {
    /// The token of the customer's card that pays, `card_...`; null, or an empty text, means the primary card.
    // Null is a value here, and absence is a fault.
    #[schema(required, pattern = "^(card_[A-Za-z0-9_-]{22})?$")]
    pub card_token: Patch<String>,
}

/// How a subscription is reactivated.
#[params]
pub struct Reactivation {
    /// Whether the plan's setup fee is charged, if anything is; it is if this is absent.
    pub include_setup_fee: Option<bool>,
}
