//! The audit trail: what operators have done (decisions 14). Rows are only added, and removed when they are old.

use sea_orm::entity::prelude::*;
use uuid::Uuid;

use crate::{AccountToken, JsonText, Timestamp};

/// One act. It is the operator's and no account's, so it stays when the account goes.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "audit_entries")]
pub struct Model {
    /// In the order of time.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// What was done.
    pub action: Action,
    /// Whose account it is about, where it is about one.
    pub account: Option<AccountToken>,
    /// What it is about: a token, or the id of a data key.
    pub subject: String,
    /// How it was done, an object. No secret is in it.
    pub detail: JsonText,
    /// Who did it, as the machine knows him.
    pub operator: String,
    /// By the wall clock.
    pub recorded_at: Timestamp,
}

string_enum! {
    /// What operators do.
    pub enum Action {
        AccountCreated "account.created",
        AccountChanged "account.changed",
        AccountKeysRotated "account.keys_rotated",
        MerchantExported "merchant.exported",
        MerchantImported "merchant.imported",
        MerchantDecided "merchant.decided",
        DepositCreated "deposit.created",
        DisputeOpened "dispute.opened",
        DisputeResolved "dispute.resolved",
        VaultRotated "vault.rotated",
        WebhookPinged "webhook.pinged",
        WebhookKeyRotated "webhook.key_rotated",
        OperatorSignedIn "operator.signed_in",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
