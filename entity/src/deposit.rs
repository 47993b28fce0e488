//! Deposits: money that arrived from outside (specification, Deposit; decisions 8).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, DepositToken, Timestamp};

/// One deposit, in AUD cents.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "deposits")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The deposit's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: DepositToken,
    /// AUD cents.
    pub amount: i64,
    /// What the sender wrote.
    pub narration: String,
    /// When it raises the balance, by the account's clock.
    pub available_at: Timestamp,
    /// By the account's clock.
    pub created_at: Timestamp,
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
