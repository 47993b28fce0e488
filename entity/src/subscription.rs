//! Subscriptions (specification, Subscription).

use crate::{AccountToken, CardToken, ChargeToken, CustomerToken, PlanToken, SubscriptionToken, Timestamp};

table! {
    /// A customer's subscription to a plan.
    "subscriptions" [account_id: AccountToken, id: SubscriptionToken] {
        state: SubscriptionState,
        plan_id: PlanToken,
        customer_id: CustomerToken,
        /// The card that pays; null is the customer's primary card at that moment.
        card_id: Option<CardToken>,
        /// The number of the attempt to charge it that may record its outcome.
        attempt: i32,
        /// The charge of that attempt, while it is in flight.
        charge_id: Option<ChargeToken>,
        /// The number of the present interval, which is the number of billed ones: 0 is the trial.
        interval_number: i32,
        /// The start of the present interval.
        started_at: Timestamp,
        /// The end of the present interval: the next one begins then, even if it is paid late.
        finishes_at: Timestamp,
        /// The interval from whose start all later ones are counted.
        anchor_number: i32,
        /// The start of that interval: its day of the month is kept.
        anchor_at: Timestamp,
        /// Whether the next bill includes the setup fee.
        setup_due: bool,
        /// The number of refusals of the present bill.
        failures: i32,
        /// The first refusal, from which retries are counted.
        first_failed_at: Option<Timestamp>,
        /// Null if it is not billed again.
        next_billing_at: Option<Timestamp>,
        /// Null if no end is set.
        ends_at: Option<Timestamp>,
        cancelled_at: Option<Timestamp>,
        created_at: Timestamp,
    }
}

string_enum! {
    /// The state of a subscription.
    pub closed enum SubscriptionState without Starting {
        /// Its first charge is in flight; the API does not show it.
        Starting "starting",
        /// The trial runs.
        Trial "trial",
        /// The customer is billed interval by interval.
        Active "active",
        /// The customer has unsubscribed, and the paid interval runs out.
        Cancelling "cancelling",
        /// The customer is billed no more.
        Cancelled "cancelled",
    }
}
