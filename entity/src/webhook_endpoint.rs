//! Webhook endpoints: where an account wants its events sent (specification, Webhook endpoint; decisions 11).

use sea_orm::entity::prelude::*;
use uuid::Uuid;

use crate::{AccountToken, Timestamp, WebhookEndpointToken};

/// One endpoint. Its key must be shown again, so it is kept encrypted.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "webhook_endpoints")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The endpoint's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: WebhookEndpointToken,
    /// Which of the account's five places it takes: unique there, so that there are never more.
    pub slot: i32,
    /// Where its webhooks go.
    pub url: String,
    /// What they are signed with, encrypted.
    pub key_sealed: Vec<u8>,
    /// The data key that encrypts it, and the former one.
    pub sealed_by: Uuid,
    /// What they are signed with as well for a while after a rotation, encrypted.
    pub former_key_sealed: Option<Vec<u8>>,
    /// Until when, by the account's clock; null where there is none.
    pub former_key_until: Option<Timestamp>,
    /// By the account's clock.
    pub created_at: Timestamp,
    /// By the account's clock.
    pub updated_at: Timestamp,
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
