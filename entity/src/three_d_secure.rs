//! 3-D Secure sessions (specification, POST /charges and GET /charges/verify).

use crate::{AccountToken, CardToken, ChargeToken, SessionToken, Timestamp};

table! {
    /// One verification by a cardholder, with its outcome. The token is random, because the redirect shows it to a browser. The
    /// row is never deleted: verify always answers the same.
    "three_d_secure_sessions" [account_id: AccountToken, id: SessionToken] {
        state: SessionState,
        /// The pending charge.
        charge_id: ChargeToken,
        /// A copy of the card that pays, which is deleted when the session ends.
        card_id: CardToken,
        /// Whether the card offers 3-D Secure.
        enrolled: bool,
        /// The address to which the cardholder returns.
        callback_url: String,
        /// The word of the `Sandbox-Outcome` header, for the call after the approval.
        sandbox_outcome: Option<String>,
        /// Null once it has ended.
        expires_at: Option<Timestamp>,
        created_at: Timestamp,
    }
}

string_enum! {
    /// The state of a session.
    pub enum SessionState {
        /// The cardholder has not answered.
        Open "open",
        /// The cardholder approved the payment.
        Approved "approved",
        /// The cardholder refused the payment.
        Failed "failed",
        /// The card does not offer 3-D Secure.
        Unavailable "unavailable",
        /// The cardholder did not answer in time.
        Expired "expired",
    }
}
