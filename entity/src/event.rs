//! Events (specification, Events; `docs/decisions.md`, 241).

use crate::section::Section;
use crate::{AccountToken, EventToken, JsonText, Timestamp};

table! {
    /// One event, with the record as the API showed it at that moment.
    "events" [account_id: AccountToken, id: EventToken] {
        r#type: EventType,
        /// The record, byte for byte.
        data: JsonText,
        created_at: Timestamp,
        /// Its number within the account, from 1; `None` until it is given, which is before anybody sees the event.
        sequence: Option<i64>,
    }
}

/// Numbers of events.
pub mod event_sequence {
    use crate::AccountToken;

    table! {
        /// The last number given to an event of an account. It outlives the event.
        "event_sequences" [account_id: AccountToken] {
            last: i64,
        }
    }

    impl crate::Owned for Entity {
        const ACCOUNT: Column = Column::AccountId;
    }
}

string_enum! {
    /// The types of events. More types join over time; consumers must tolerate unknown ones.
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
        /// A test of one endpoint, which alone gets it.
        Ping "ping",
    }
}

impl EventType {
    /// Returns the sections whose records its data show: a dispute shows its charge. Of an authorisation, an event of a charge's
    /// type shows the authorisation instead.
    pub const fn sections(self) -> &'static [Section] {
        match self {
            Self::ChargeAuthorised | Self::ChargeVoided | Self::ChargeCaptured | Self::ChargeFailed => {
                &[Section::Charges]
            }
            Self::CustomerCreated | Self::CustomerUpdated | Self::CustomerDeleted => &[Section::Customers],
            Self::RefundCreated | Self::RefundSucceeded | Self::RefundFailed => &[Section::Refunds],
            Self::PlanCreated | Self::PlanDeleted => &[Section::Plans],
            Self::SubscriptionCreated
            | Self::SubscriptionUnsubscribed
            | Self::SubscriptionCancelled
            | Self::SubscriptionExpired
            | Self::SubscriptionRenewed
            | Self::SubscriptionRenewalFailed => &[Section::Subscriptions],
            Self::RecipientCreated | Self::RecipientUpdated => &[Section::Recipients],
            Self::TransferCreated | Self::TransferFailed => &[Section::Transfers],
            Self::DepositCreated => &[Section::Deposits],
            Self::SubMerchantApplicationSubmitted
            | Self::SubMerchantApplicationActivated
            | Self::SubMerchantApplicationDeclined
            | Self::SubMerchantApplicationOnHold => &[Section::Merchants],
            Self::DisputeEvidenceRequired
            | Self::DisputeResolved
            | Self::DisputeCancelled
            | Self::DisputeEvidenceUnderReview
            | Self::DisputeLost
            | Self::DisputeWon
            | Self::DisputeExpired
            | Self::DisputeAccepted
            | Self::DisputeArbitrationUnderReview
            | Self::DisputeArbitrationWon
            | Self::DisputeArbitrationLost => &[Section::Disputes, Section::Charges],
            Self::Ping => &[Section::WebhookEndpoints],
        }
    }
}
