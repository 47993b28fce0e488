//! 3-D Secure sessions (specification, POST /charges and GET /charges/verify; decisions 5).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, CardToken, ChargeToken, SessionToken, Timestamp};

/// One question to a cardholder, and what came of it. It is kept: verify answers the same for ever.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "three_d_secure_sessions")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The session's token: random, because the redirect shows it to a browser.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: SessionToken,
    /// Where it stands.
    pub state: SessionState,
    /// The pending charge.
    pub charge_id: ChargeToken,
    /// The copy of the card that pays; gone once the session has ended.
    pub card_id: CardToken,
    /// Whether the card offers 3-D Secure at all.
    pub enrolled: bool,
    /// Where the cardholder comes back to.
    pub callback_url: String,
    /// The word of the `Sandbox-Outcome` header, for the call that is made after the approval.
    pub sandbox_outcome: Option<String>,
    /// When it runs out, by the account's clock; null once it has ended.
    pub expires_at: Option<Timestamp>,
    /// By the account's clock.
    pub created_at: Timestamp,
}

string_enum! {
    /// Where a session stands.
    pub enum SessionState {
        /// The cardholder has not answered.
        Open "open",
        /// The cardholder approved the payment.
        Approved "approved",
        /// The cardholder did not.
        Failed "failed",
        /// The card does not offer 3-D Secure.
        Unavailable "unavailable",
        /// Nobody answered in time.
        Expired "expired",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
