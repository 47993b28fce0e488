//! Refunds (specification, Refund; decisions 5 and 6).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, ChargeToken, Currency, RefundToken, Timestamp};

/// One refund of a charge. Its money leaves the balance when it is made, and comes back if it fails.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "refunds")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The refund's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: RefundToken,
    /// What is refunded.
    pub charge_id: ChargeToken,
    /// The one column that says where the refund stands.
    pub state: RefundState,
    /// Which attempt to submit it may write what came of it. Each counts when it begins, and once more when it ends without an
    /// answer: odd while somebody has it in hand.
    pub attempt: i32,
    /// When it is submitted next, by the wall clock; null once the acquirer has answered.
    pub submit_after: Option<Timestamp>,
    /// What the acquirer has said will come of it; null until it has accepted.
    pub announced: Option<RefundOutcome>,
    /// When that comes about, by the account's clock; null but in state `accepted`.
    pub settles_at: Option<Timestamp>,
    /// In the currency's base unit.
    pub amount: i64,
    /// The charge's.
    pub currency: Currency,
    /// `amount` in AUD cents, at the charge's rate.
    pub settlement_amount: i64,
    /// By the account's clock.
    pub created_at: Timestamp,
}

impl Model {
    /// Whether somebody may be submitting it.
    pub fn is_in_hand(&self) -> bool {
        self.attempt % 2 == 1
    }
}

string_enum! {
    /// Where a refund stands.
    pub enum RefundState {
        /// Pending: on its way to the acquirer.
        Submitting "submitting",
        /// Pending: the acquirer has accepted it, and settles it at `settles_at`.
        Accepted "accepted",
        /// The cardholder has the money.
        Succeeded "succeeded",
        /// The money came back.
        Failed "failed",
    }
}

string_enum! {
    /// How a refund ends.
    pub enum RefundOutcome {
        /// The cardholder gets the money.
        Succeeded "succeeded",
        /// The issuer sends it back.
        Failed "failed",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
