//! The ledger of a subscription (specification, Subscription).

use crate::{AccountToken, ChargeToken, Currency, SubscriptionEntryToken, SubscriptionToken, Timestamp};

table! {
    /// One entry. A unique index allows one of each kind per interval.
    "subscription_entries" [account_id: AccountToken, id: SubscriptionEntryToken] {
        subscription_id: SubscriptionToken,
        /// The interval billed; 0 is the trial.
        interval_number: i32,
        annotation: Annotation,
        /// Positive.
        amount: i64,
        currency: Currency,
        /// The charge that paid the bill.
        charge_id: ChargeToken,
        created_at: Timestamp,
    }
}

string_enum! {
    /// The reason of an entry in a subscription's ledger.
    pub open enum Annotation {
        /// The card was charged.
        ChargeCredit "charge_credit",
        /// An interval was billed.
        IntervalDebit "interval_debit",
        /// The setup fee was billed.
        SetupDebit "setup_debit",
    }
}

string_enum! {
    /// The direction of an entry in a subscription's ledger.
    pub closed enum Direction {
        /// Money was charged.
        Credit "credit",
        /// Money was used.
        Debit "debit",
    }
}

impl Annotation {
    /// Returns the direction.
    pub const fn direction(self) -> Direction {
        match self {
            Self::ChargeCredit => Direction::Credit,
            Self::IntervalDebit | Self::SetupDebit => Direction::Debit,
        }
    }
}
