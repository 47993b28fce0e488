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
        /// Customers that were deleted: no list, but what tells kept positions that rows have vanished, as the next four.
        LostCustomers "lost_customers",
        /// Events that were deleted.
        LostEvents "lost_events",
        /// Plans that were deleted.
        LostPlans "lost_plans",
        /// Listed subscriptions that were deleted.
        LostSubscriptions "lost_subscriptions",
        /// Webhooks that were deleted.
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
    /// Returns what counts the records that have vanished from the list, or from parts of it; `None` if none ever do.
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
