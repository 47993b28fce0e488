//! Transfers: money paid out (specification, Transfer; decisions 8).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, JsonText, RecipientToken, Timestamp, TransferToken};

/// One transfer, in AUD cents. It is paid when it is made.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "transfers")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The transfer's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: TransferToken,
    /// Why it was made.
    pub kind: TransferKind,
    /// The one column that says where it stands.
    pub status: TransferStatus,
    /// Who is paid; null is the account itself.
    pub recipient_id: Option<RecipientToken>,
    /// For the account's records.
    pub description: String,
    /// What is paid, in AUD cents.
    pub amount: i64,
    /// What that costs besides, in AUD cents.
    pub fee: i64,
    /// The sum of the negative lines, shown positive.
    pub total_debits: i64,
    /// The sum of the positive lines.
    pub total_credits: i64,
    /// How many lines it has.
    pub line_items_count: i64,
    /// What the bank statement says.
    pub reference: String,
    /// The bank account as it was paid.
    pub bank_account: JsonText,
    /// When the bank sends it back, by the account's clock; null if it does not, or has.
    pub returns_at: Option<Timestamp>,
    /// What a search looks its words up in: the folded description.
    pub search_text: String,
    /// By the account's clock.
    pub created_at: Timestamp,
}

string_enum! {
    /// Why a transfer was made.
    pub enum TransferKind {
        /// On request.
        Manual "manual",
        /// On the account's schedule: its lines are the movements that it pays out.
        Settlement "settlement",
    }
}

string_enum! {
    /// Where a transfer stands.
    pub enum TransferStatus {
        /// Paid.
        Succeeded "succeeded",
        /// The bank sent it back.
        Failed "failed",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
