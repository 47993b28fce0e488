//! API keys, found by a keyed hash of the secret (`docs/decisions.md`, 56).

use uuid::Uuid;

use crate::{AccountToken, Bytes, Timestamp};

table! {
    /// One key, by its HMAC-SHA256. Merchant detail shows the key again, so it is kept encrypted as well.
    "api_keys" [hash: Bytes] {
        account_id: AccountToken,
        kind: KeyKind,
        /// The encrypted key.
        sealed: Bytes,
        sealed_by: Uuid,
        /// The end of its validity, by the wall clock; null if none is set.
        valid_until: Option<Timestamp>,
        /// By the wall clock. The API shows the youngest pair.
        created_at: Timestamp,
    }
}

impl crate::Owned for Entity {
    const ACCOUNT: Column = Column::AccountId;
}

string_enum! {
    /// The kind of a key (specification, Authentication): a secret key is for servers, a publishable one for browsers.
    pub enum KeyKind {
        /// Works on every endpoint.
        Secret "secret",
        /// Works on the endpoints that store a card, a payment source or a bank account.
        Publishable "publishable",
    }
}
