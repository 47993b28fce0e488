//! Events (specification, Events; decisions 11).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, EventToken, JsonText, Timestamp};

/// One event: what happened, and the record as the API showed it at that moment.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "events")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The event's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: EventToken,
    /// What happened.
    pub r#type: EventType,
    /// The record, byte for byte.
    pub data: JsonText,
    /// By the account's clock.
    pub created_at: Timestamp,
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

string_enum! {
    /// What can happen. More types join over time; consumers must tolerate unknown ones.
    pub enum EventType {
        ChargeAuthorised "charge.authorised",
        ChargeVoided "charge.voided",
        ChargeCaptured "charge.captured",
        ChargeFailed "charge.failed",
        CustomerCreated "customer.created",
        CustomerUpdated "customer.updated",
        CustomerDeleted "customer.deleted",
        RefundCreated "refund.created",
        RefundSucceeded "refund.succeeded",
        RefundFailed "refund.failed",
        PlanCreated "plan.created",
        PlanDeleted "plan.deleted",
        SubscriptionCreated "subscription.created",
        SubscriptionUnsubscribed "subscription.unsubscribed",
        SubscriptionCancelled "subscription.cancelled",
        SubscriptionExpired "subscription.expired",
        SubscriptionRenewed "subscription.renewed",
        SubscriptionRenewalFailed "subscription.renewal_failed",
        RecipientCreated "recipient.created",
        RecipientUpdated "recipient.updated",
        TransferCreated "transfer.created",
        TransferFailed "transfer.failed",
        DepositCreated "deposit.created",
        SubMerchantApplicationSubmitted "sub_merchant_application.submitted",
        SubMerchantApplicationActivated "sub_merchant_application.activated",
        SubMerchantApplicationDeclined "sub_merchant_application.declined",
        SubMerchantApplicationOnHold "sub_merchant_application.on_hold",
        DisputeEvidenceRequired "dispute.evidence_required",
        DisputeResolved "dispute.resolved",
        DisputeCancelled "dispute.cancelled",
        DisputeEvidenceUnderReview "dispute.evidence_under_review",
        DisputeLost "dispute.lost",
        DisputeWon "dispute.won",
        DisputeExpired "dispute.expired",
        DisputeAccepted "dispute.accepted",
        DisputeArbitrationUnderReview "dispute.arbitration_under_review",
        DisputeArbitrationWon "dispute.arbitration_won",
        DisputeArbitrationLost "dispute.arbitration_lost",
        /// Nothing did: somebody tries one endpoint, which alone is told.
        Ping "ping",
    }
}
