//! The uses of API keys, by day and address (`docs/decisions.md`, 346).

use crate::api_key::KeyKind;
use crate::{AccountToken, Bytes, Day, Timestamp};

table! {
    /// The uses of one key, by its hash, on one day from one address, by the wall clock. The address of a publishable key is
    /// not kept: it is empty.
    "key_uses" [account_id: AccountToken, hash: Bytes, day: Day, address: String] {
        kind: KeyKind,
        /// The key's last characters.
        key_name: String,
        first_at: Timestamp,
        last_at: Timestamp,
        uses: i64,
    }
}
