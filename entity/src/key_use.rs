//! How often keys were used, by the day and by where from (decisions 14).

use sea_orm::entity::prelude::*;

use crate::api_key::KeyKind;
use crate::{AccountToken, Day, Timestamp};

/// The uses of one key on one day from one address.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "key_uses")]
pub struct Model {
    /// Whose key it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The key's, as `api_keys` has it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub hash: Vec<u8>,
    /// By the wall clock.
    #[sea_orm(primary_key, auto_increment = false)]
    pub day: Day,
    /// Where the requests came from; empty where that is not kept.
    #[sea_orm(primary_key, auto_increment = false)]
    pub address: String,
    /// What the key may do.
    pub kind: KeyKind,
    /// What the key is told apart by: its last characters.
    pub key_name: String,
    /// The first of them, by the wall clock.
    pub first_at: Timestamp,
    /// The last of them.
    pub last_at: Timestamp,
    /// How many they were.
    pub uses: i64,
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
