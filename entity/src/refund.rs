//! Refunds (specification, Refund; `docs/decisions.md`, 169).

use crate::{AccountToken, ChargeToken, Currency, RefundToken, Timestamp};

table! {
    /// One refund of a charge. Its money leaves the balance at its creation, and comes back if it fails.
    "refunds" [account_id: AccountToken, id: RefundToken] {
        charge_id: ChargeToken,
        state: RefundState,
        /// The number of the attempt that may record the outcome. Each attempt counts when it begins, and again when it ends
        /// without an answer: odd while a submission is in flight.
        attempt: i32,
        /// The next submission, by the wall clock; null once the acquirer has answered.
        submit_after: Option<Timestamp>,
        /// The outcome that the acquirer has announced; null until it has accepted.
        announced: Option<RefundOutcome>,
        /// The time of that outcome; null except in state `accepted`.
        settles_at: Option<Timestamp>,
        amount: i64,
        currency: Currency,
        /// `amount` in AUD cents, at the charge's rate.
        settlement_amount: i64,
        created_at: Timestamp,
    }
}

impl Model {
    /// Returns whether a submission may be in flight.
    pub fn is_in_flight(&self) -> bool {
        self.attempt % 2 == 1
    }
}

string_enum! {
    /// The state of a refund.
    pub enum RefundState {
        /// Pending: the acquirer has not answered yet.
        Submitting "submitting",
        /// Pending: the acquirer has accepted it, and completes it at `settles_at`.
        Accepted "accepted",
        /// The cardholder has the money.
        Succeeded "succeeded",
        /// The money came back.
        Failed "failed",
    }
}

string_enum! {
    /// The outcome of a refund.
    pub closed enum RefundOutcome {
        /// The cardholder gets the money.
        Succeeded "succeeded",
        /// The issuer sends it back.
        Failed "failed",
    }
}
