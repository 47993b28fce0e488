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
        /// Records that have vanished from lists: no lists, but what tells kept positions of rows that they hold no more.
        LostCustomers "lost_customers",
        /// See above.
        LostEvents "lost_events",
        /// See above.
        LostPlans "lost_plans",
        /// See above.
        LostSubscriptions "lost_subscriptions",
        /// See above.
        LostWebhooks "lost_webhooks",
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
    /// Returns the count of the times that something has vanished from a list, or from parts of it; `None` if nothing ever does
    /// before the account itself.
    pub fn lost(self) -> Option<Self> {
        match self {
            Self::Charges => Some(Self::ErasedCharges),
            Self::Customers => Some(Self::LostCustomers),
            Self::Events => Some(Self::LostEvents),
            Self::Plans => Some(Self::LostPlans),
            Self::Subscriptions => Some(Self::LostSubscriptions),
            Self::Webhooks => Some(Self::LostWebhooks),
            Self::Authorisations
            | Self::Deposits
            | Self::Disputes
            | Self::ErasedCharges
            | Self::LostCustomers
            | Self::LostEvents
            | Self::LostPlans
            | Self::LostSubscriptions
            | Self::LostWebhooks
            | Self::Merchants
            | Self::Recipients
            | Self::Refunds
            | Self::Transfers => None,
        }
    }
}
