//! Deposits: money that arrived from outside (specification, Deposit).

use crate::{AccountToken, DepositToken, Timestamp};

table! {
    /// One deposit.
    "deposits" [account_id: AccountToken, id: DepositToken] {
        amount: i64,
        /// The sender's text.
        narration: String,
        /// The time from which it is in the balance.
        available_at: Timestamp,
        created_at: Timestamp,
    }
}
