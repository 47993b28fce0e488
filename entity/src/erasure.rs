//! Erasures of customers' personal data (`docs/decisions.md`, 388).

use crate::{AccountToken, CustomerToken, JsonText, Timestamp};

table! {
    /// The erasure of one customer. It names tokens only, so it stays.
    "erasures" [account_id: AccountToken, id: CustomerToken] {
        /// The tokens of the cards that the customer had when it was deleted, a list.
        cards: JsonText,
        /// From when on no request that began before the customer's deletion is in flight: the last pass is not earlier.
        quiet_at: Timestamp,
        /// The next pass; null once the last one is done.
        due_at: Option<Timestamp>,
        /// The last pass, or an earlier one after which a restored snapshot has brought the customer back.
        erased_at: Option<Timestamp>,
    }
}
