//! The audit trail of operators' acts (`docs/decisions.md`, 344). Rows are added, sealed once (385), never changed, and removed
//! when they are old.

use uuid::Uuid;

use crate::{AccountToken, Bytes, JsonText, Timestamp};

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
        /// The place in the trail, from 1 without gaps; null until the entry is sealed, as the next three.
        number: Option<i64>,
        /// From when on the entry is kept: the latest time of sealing up to here.
        kept_from: Option<Timestamp>,
        /// The keyed hash of all columns above.
        mac: Option<Bytes>,
        /// The keyed hash of the predecessor's link and the `mac`: it stands for the whole trail up to here.
        link: Option<Bytes>,
    }
}

string_enum! {
    /// An act.
    pub enum Action {
        AccountCreated "account.created",
        AccountChanged "account.changed",
        AccountKeysRotated "account.keys_rotated",
        KeyCreated "key.created",
        KeyRolled "key.rolled",
        KeyRevoked "key.revoked",
        MerchantExported "merchant.exported",
        MerchantImported "merchant.imported",
        MerchantDecided "merchant.decided",
        DepositCreated "deposit.created",
        DisputeOpened "dispute.opened",
        DisputeResolved "dispute.resolved",
        CustomerErased "customer.erased",
        VaultRotated "vault.rotated",
        ClockConfirmed "clock.confirmed",
        WebhookPinged "webhook.pinged",
        WebhookKeyRotated "webhook.key_rotated",
        OperatorSignedIn "operator.signed_in",
        PersonSignedIn "person.signed_in",
        PersonSignedOut "person.signed_out",
        PersonSignedOutEverywhere "person.signed_out_everywhere",
        PersonSessionsEnded "person.sessions_ended",
        ApprovalRequested "approval.requested",
        ApprovalApproved "approval.approved",
        ApprovalDeclined "approval.declined",
        ApprovalWithdrawn "approval.withdrawn",
        AccountViewed "account.viewed",
        CardTestingNoticed "card_testing.noticed",
        AuditRead "audit.read",
        AuditVerified "audit.verified",
        StatementImported "statement.imported",
        ExceptionExplained "exception.explained",
        ExceptionResolved "exception.resolved",
    }
}
