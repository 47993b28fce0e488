//! Stored bank accounts (specification, Transfer; decisions 8).

use sea_orm::entity::prelude::*;
use uuid::Uuid;

use crate::{AccountToken, BankAccountToken, Timestamp};

/// One bank account. What it is never changes; one that is replaced goes.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "bank_accounts")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The bank account's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: BankAccountToken,
    /// Where its token stands.
    pub state: BankAccountState,
    /// Whose bank account it is.
    pub name: String,
    /// The branch, six digits.
    pub bsb: String,
    /// Masked: only the last three digits are shown.
    pub number: String,
    /// Empty where the branch is not known.
    pub bank_name: String,
    /// Empty where the branch is not known.
    pub branch: String,
    /// The number, encrypted.
    pub number_sealed: Vec<u8>,
    /// The data key that encrypts it.
    pub sealed_by: Uuid,
    /// When an unused token expires, by the account's clock; null once it is used.
    pub expires_at: Option<Timestamp>,
    /// By the account's clock.
    pub created_at: Timestamp,
}

string_enum! {
    /// Where a bank account's token stands.
    pub enum BankAccountState {
        /// May be given to a recipient once, until it expires.
        Unused "unused",
        /// Belongs to a recipient, or is the account's own.
        Attached "attached",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
