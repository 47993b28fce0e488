//! Counters: how many records an account's lists hold, so that no list counts its rows.

use sea_orm::entity::prelude::*;

use crate::AccountToken;

/// One slot of one count: slots spread the writers of one account over several rows.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "counters")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// What is counted.
    #[sea_orm(primary_key, auto_increment = false)]
    pub kind: Counted,
    /// 0 to 31 on PostgreSQL, 0 on SQLite.
    #[sea_orm(primary_key, auto_increment = false)]
    pub slot: i32,
    /// The slot's part of the count.
    pub n: i64,
}

string_enum! {
    /// What is counted.
    pub enum Counted {
        /// Authorisations that lists show.
        Authorisations "authorisations",
        /// Charges that lists show.
        Charges "charges",
        /// Customers.
        Customers "customers",
        /// Deposits.
        Deposits "deposits",
        /// Disputes.
        Disputes "disputes",
        /// Events.
        Events "events",
        /// Referred merchants.
        Merchants "merchants",
        /// Plans.
        Plans "plans",
        /// Recipients.
        Recipients "recipients",
        /// Refunds.
        Refunds "refunds",
        /// Subscriptions that lists show.
        Subscriptions "subscriptions",
        /// Transfers.
        Transfers "transfers",
        /// Webhooks.
        Webhooks "webhooks",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
