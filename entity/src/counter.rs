//! Counters of the records in an account's lists, so that no list counts its rows.

use crate::AccountToken;

table! {
    /// One slot of one count. Slots spread the writers of an account over several rows: 32 on PostgreSQL, one on SQLite.
    "counters" [account_id: AccountToken, kind: Counted, slot: i32] {
        /// The slot's part of the count.
        n: i64,
    }
}

string_enum! {
    /// What is counted: the records of a list, but for one kind.
    pub enum Counted {
        /// Authorisations that lists show.
        Authorisations "authorisations",
        /// Charges that lists show.
        Charges "charges",
        /// Customers.
        Customers "customers",
        /// Listed charges whose words were erased: no list, but what tells kept sizes of searches that words have changed.
        ErasedCharges "erased_charges",
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

impl Counted {
    /// Returns whether the list only gains records: nothing that it shows is deleted or hidden, but with the account.
    pub fn only_grows(self) -> bool {
        match self {
            Self::Authorisations
            | Self::Charges
            | Self::Deposits
            | Self::ErasedCharges
            | Self::Disputes
            | Self::Recipients
            | Self::Refunds
            | Self::Transfers => true,
            Self::Customers
            | Self::Events
            | Self::Merchants
            | Self::Plans
            | Self::Subscriptions
            | Self::Webhooks => false,
        }
    }
}
