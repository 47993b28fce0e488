//! Idempotency-Keys and the responses kept under them (`docs/decisions.md`, 65). Rows are added, never changed but for the date of a
//! key whose response was learnt later, and removed a day later.

/// Claimed keys.
pub mod idempotency_key {
    use crate::{AccountToken, Bytes, Timestamp};

    table! {
        /// The key of a request that changes something, or is about to. Without a response the request is in flight. `hash` is the
        /// keyed hash of the kind of API key and the Idempotency-Key.
        "idempotency_keys" [account_id: AccountToken, hash: Bytes] {
            /// The keyed hash of the request that claimed the key.
            fingerprint: Bytes,
            /// By the wall clock.
            created_at: Timestamp,
        } relations {
            /// The response, if there is one.
            #[sea_orm(has_one)]
            answer: (HasOne<crate::idempotency_answer::Entity>),
        }
    }
}

/// Kept responses.
pub mod idempotency_answer {
    use uuid::Uuid;

    use crate::{AccountToken, Bytes};

    table! {
        /// The response to the request that claimed a key, by the key's hash.
        "idempotency_answers" [account_id: AccountToken, hash: Bytes] {
            status: i32,
            /// The exact bytes of the body, encrypted.
            sealed: Bytes,
            sealed_by: Uuid,
        } relations {
            /// The key that was claimed.
            #[sea_orm(belongs_to, from = "(account_id, hash)", to = "(account_id, hash)")]
            key: (BelongsTo<crate::idempotency_key::Entity>),
        }
    }
}
