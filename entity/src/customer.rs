//! Customers (specification, Customer; decisions 6).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, CardToken, CustomerToken, Timestamp};

/// One customer. Exactly one card is primary by construction: it is this column.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "customers")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The customer's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: CustomerToken,
    /// Need not be unique.
    pub email: String,
    /// Given name.
    pub first_name: Option<String>,
    /// Family name.
    pub last_name: Option<String>,
    /// Telephone number.
    pub phone_number: Option<String>,
    /// Company.
    pub company: Option<String>,
    /// Free text.
    pub notes: Option<String>,
    /// The card that pays.
    pub primary_card_id: CardToken,
    /// Of the request that made the customer; renewals are charged from it (decisions 7).
    pub ip_address: String,
    /// By the account's clock.
    pub created_at: Timestamp,
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
