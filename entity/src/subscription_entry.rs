//! The ledger of a subscription: what was charged, and what for (specification, Subscription; decisions 7).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, ChargeToken, Currency, SubscriptionEntryToken, SubscriptionToken, Timestamp};

/// One entry. Of each interval there is at most one of each kind: a unique index says so.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "subscription_entries")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The entry.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: SubscriptionEntryToken,
    /// Whose ledger.
    pub subscription_id: SubscriptionToken,
    /// The interval that was billed; 0 is the trial.
    pub interval_number: i32,
    /// What it is for; whether it is a credit or a debit follows.
    pub annotation: Annotation,
    /// In the currency's base unit, positive.
    pub amount: i64,
    /// The plan's.
    pub currency: Currency,
    /// The charge that paid the bill.
    pub charge_id: ChargeToken,
    /// By the account's clock.
    pub created_at: Timestamp,
}

string_enum! {
    /// What an entry is for.
    pub enum Annotation {
        /// The card was charged.
        ChargeCredit "charge_credit",
        /// An interval was billed.
        IntervalDebit "interval_debit",
        /// The setup fee was billed.
        SetupDebit "setup_debit",
    }
}

string_enum! {
    /// Which way an entry goes.
    pub enum Direction {
        /// Money came.
        Credit "credit",
        /// It was used.
        Debit "debit",
    }
}

impl Annotation {
    /// Which way it goes.
    pub const fn direction(self) -> Direction {
        match self {
            Self::ChargeCredit => Direction::Credit,
            Self::IntervalDebit | Self::SetupDebit => Direction::Debit,
        }
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
