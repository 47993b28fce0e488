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
        /// What the sandbox lets the issuer and the cardholder do; null if a person decides on the page.
        challenge: Option<SimulatedChallenge>,
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

string_enum! {
    /// How a simulated verification goes, by the test card or by the sandbox's header.
    pub enum SimulatedChallenge {
        /// The issuer asks nothing and lets the payment pass.
        Frictionless "frictionless",
        /// The issuer asks, and the cardholder approves.
        Approved "challenge_approved",
        /// The issuer asks, and the cardholder refuses or fails.
        Refused "challenge_refused",
        /// The issuer asks, and the cardholder leaves without an answer.
        Abandoned "challenge_abandoned",
        /// The issuer does not offer 3-D Secure for the card.
        NotOffered "not_offered",
        /// The scheme's directory, which knows the issuers, answers with an error.
        DirectoryError "directory_error",
    }
}

impl SimulatedChallenge {
    /// Returns whether the payment can be verified.
    pub fn is_offered(self) -> bool {
        match self {
            Self::Frictionless | Self::Approved | Self::Refused | Self::Abandoned => true,
            Self::NotOffered | Self::DirectoryError => false,
        }
    }

    /// Says what happens, for a page that a person reads.
    pub fn description(self) -> &'static str {
        match self {
            Self::Frictionless => "the issuer asks nothing",
            Self::Approved => "the cardholder approves",
            Self::Refused => "the cardholder refuses",
            Self::Abandoned => "the cardholder leaves without an answer",
            Self::NotOffered => "the issuer does not offer 3-D Secure",
            Self::DirectoryError => "the directory of the scheme answers with an error",
        }
    }
}
