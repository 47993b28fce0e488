//! The facts about a database, and its wrapped keys.

table! {
    /// One fact, such as the environment that the database belongs to.
    "installation" [name: String] {
        value: String,
    }
}

/// Keys that the operator's vault key wraps (`docs/decisions.md`, 108).
pub mod vault_key {
    use uuid::Uuid;

    use crate::{Bytes, Timestamp};

    table! {
        /// One data key or hash key, wrapped.
        "vault_keys" [id: Uuid] {
            /// `data`, or the purpose of a hash key.
            purpose: String,
            /// The id of the operator's key that wraps it.
            wrapped_by: String,
            wrapped: Bytes,
            /// By the wall clock.
            created_at: Timestamp,
            /// The earliest removal of a former data key, which only decrypts, by the wall clock; null for hash keys and for the
            /// current data key.
            remove_at: Option<Timestamp>,
            /// The recorded number of encryptions by a data key.
            seals: i64,
        }
    }
}
