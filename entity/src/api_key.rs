//! API keys, found by a keyed hash of the secret (decisions 2).

use sea_orm::entity::prelude::*;
use uuid::Uuid;

use crate::{AccountToken, Timestamp};

/// One key. It must be shown again in merchant detail, so it is kept encrypted beside its hash.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "api_keys")]
pub struct Model {
    /// HMAC-SHA256 of the key: the only way to find it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub hash: Vec<u8>,
    /// Whose key it is.
    pub account_id: AccountToken,
    /// What it may do.
    pub kind: KeyKind,
    /// The key itself, encrypted.
    pub sealed: Vec<u8>,
    /// The data key that encrypts it.
    pub sealed_by: Uuid,
    /// Until when it works, by the wall clock; null = no end is set.
    pub valid_until: Option<Timestamp>,
    /// By the wall clock; the youngest pair is the one that is shown.
    pub created_at: Timestamp,
}

string_enum! {
    /// Specification, Authentication: a secret key is for servers, a publishable one for browsers.
    pub enum KeyKind {
        /// Works on every endpoint.
        Secret "secret",
        /// Works on the endpoints that store a card, a payment source or a bank account.
        Publishable "publishable",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
