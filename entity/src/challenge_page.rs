//! The pages of 3-D Secure sessions, found by a keyed hash of the secret in their address: who opens one has no key.

use sea_orm::entity::prelude::*;

use crate::{AccountToken, SessionToken};

/// One page.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "challenge_pages")]
pub struct Model {
    /// HMAC-SHA256 of the secret: the only way to find it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub hash: Vec<u8>,
    /// Whose session it is.
    pub account_id: AccountToken,
    /// The session.
    pub session_id: SessionToken,
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
