//! Subscriptions (specification, Subscription; decisions 7).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, CardToken, ChargeToken, CustomerToken, PlanToken, SubscriptionToken, Timestamp};

/// A customer's subscription to a plan. All times are by the account's clock.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "subscriptions")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The subscription's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: SubscriptionToken,
    /// The one column that says where the subscription stands.
    pub state: SubscriptionState,
    /// What is billed.
    pub plan_id: PlanToken,
    /// Who is billed.
    pub customer_id: CustomerToken,
    /// The card that pays; null is the customer's primary one at that moment.
    pub card_id: Option<CardToken>,
    /// The attempt to charge it that may write its outcome.
    pub attempt: i32,
    /// The charge of that attempt, while the acquirer is asked.
    pub charge_id: Option<ChargeToken>,
    /// The number of the present interval, which is how many were billed: 0 is the trial.
    pub interval_number: i32,
    /// When the present interval began.
    pub started_at: Timestamp,
    /// When the present interval ends: the next one begins then, however late it is paid.
    pub finishes_at: Timestamp,
    /// The interval from whose beginning all later ones are counted.
    pub anchor_number: i32,
    /// When that one began, or will begin: its day of the month is kept.
    pub anchor_at: Timestamp,
    /// Whether the setup fee goes with the next bill.
    pub setup_due: bool,
    /// How often the present bill was refused.
    pub failures: i32,
    /// When it was refused for the first time: retries are counted from there.
    pub first_failed_at: Option<Timestamp>,
    /// When it is billed next; null where it is not.
    pub next_billing_at: Option<Timestamp>,
    /// When it ends; null where it goes on.
    pub ends_at: Option<Timestamp>,
    /// When it was cancelled.
    pub cancelled_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
}

string_enum! {
    /// Where a subscription stands.
    pub enum SubscriptionState {
        /// Its first charge is being asked of the acquirer; nobody sees it.
        Starting "starting",
        /// In its trial.
        Trial "trial",
        /// Billed interval by interval.
        Active "active",
        /// The customer has unsubscribed: what is paid runs out.
        Cancelling "cancelling",
        /// Billed no more.
        Cancelled "cancelled",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
