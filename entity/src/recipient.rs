//! Recipients: whom transfers pay (specification, Recipient).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, BankAccountToken, JsonText, RecipientToken, Timestamp};

/// One recipient.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "recipients")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The recipient's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: RecipientToken,
    /// What it is called.
    pub name: Option<String>,
    /// E-mail address; need not be unique.
    pub email: String,
    /// Where it is paid.
    pub bank_account_id: BankAccountToken,
    /// The same as the API shows it.
    pub bank_account: JsonText,
    /// What a search of transfers looks its words up in: folded name and e-mail address.
    pub search_text: String,
    /// By the account's clock.
    pub created_at: Timestamp,
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
