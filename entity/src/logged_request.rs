//! What accounts of a test environment asked for lately (decisions 12).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, JsonText, LoggedRequestToken, Timestamp};

/// One request and its answer, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "logged_requests")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// In the order in which they were answered.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: LoggedRequestToken,
    /// What callers know it by; they may use one twice.
    pub request_id: String,
    /// HTTP method.
    pub method: String,
    /// The template of its path.
    pub route: String,
    /// Its path, with nothing but tokens in it.
    pub path: String,
    /// HTTP status of the answer; 499 where nobody waited for one.
    pub status: i32,
    /// Milliseconds to the answer.
    pub duration: i64,
    /// The Idempotency-Key.
    pub idempotency_key: Option<String>,
    /// Whether the answer is an earlier one.
    pub replayed: bool,
    /// What of its parameters may be shown, an object.
    pub parameters: JsonText,
    /// The names of the others, a list.
    pub hidden: JsonText,
    /// Code, sentence and faults of an answer that is an error, an object.
    pub error: Option<JsonText>,
    /// By the account's clock.
    pub created_at: Timestamp,
    /// The same moment by the wall clock, by which it grows old: a moved clock takes no request away.
    pub logged_at: Timestamp,
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
