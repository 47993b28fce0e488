//! The audit trail of operators' acts (`docs/decisions.md`, 344). Rows are added, never changed, and removed when they are old.

use uuid::Uuid;

use crate::{AccountToken, JsonText, Timestamp};

table! {
    /// One act. It belongs to the operator, so it stays when the account is deleted. Ids sort by time.
    "audit_entries" [id: Uuid] {
        action: Action,
        account: Option<AccountToken>,
        /// A token, or the id of a data key.
        subject: String,
        /// The act's parameters, an object without secrets.
        detail: JsonText,
        /// The operator's name on the machine.
        operator: String,
        /// By the wall clock.
        recorded_at: Timestamp,
    }
}

string_enum! {
    /// An act.
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
        AccountViewed "account.viewed",
        StatementImported "statement.imported",
        ExceptionExplained "exception.explained",
        ExceptionResolved "exception.resolved",
    }
}
