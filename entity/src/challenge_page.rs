//! The pages of 3-D Secure sessions. A cardholder has no API key, so a page is found by the secret in its address.

use crate::{AccountToken, Bytes, SessionToken};

table! {
    /// One page, by the HMAC-SHA256 of its secret.
    "challenge_pages" [hash: Bytes] {
        account_id: AccountToken,
        session_id: SessionToken,
    }
}

impl crate::Owned for Entity {
    const ACCOUNT: Column = Column::AccountId;
}
