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
    /// The type of an event. More types join over time: accept unknown ones. `recipient.deleted` is kept for later: nothing causes it
    /// yet.
    pub open enum EventType {
        /// A charge or an authorisation reserved money on a card.
        ChargeAuthorised "charge.authorised",
        /// A charge or an authorisation was voided, and its money released.
        ChargeVoided "charge.voided",
        /// A charge took its money.
        ChargeCaptured "charge.captured",
        /// A charge or an authorisation was declined, or failed.
        ChargeFailed "charge.failed",
        /// A customer was created.
        CustomerCreated "customer.created",
        /// A customer was changed.
        CustomerUpdated "customer.updated",
        /// A customer was deleted.
        CustomerDeleted "customer.deleted",
        /// A refund was created; its outcome follows.
        RefundCreated "refund.created",
        /// The cardholder got the refund.
        RefundSucceeded "refund.succeeded",
        /// A refund failed, and its money came back.
        RefundFailed "refund.failed",
        /// A plan was created.
        PlanCreated "plan.created",
        /// A plan was deleted.
        PlanDeleted "plan.deleted",
        /// A customer was subscribed to a plan.
        SubscriptionCreated "subscription.created",
        /// A subscription will end with the paid interval.
        SubscriptionUnsubscribed "subscription.unsubscribed",
        /// A subscription was cancelled.
        SubscriptionCancelled "subscription.cancelled",
        /// A subscription ended with its last interval.
        SubscriptionExpired "subscription.expired",
        /// The next interval of a subscription was paid.
        SubscriptionRenewed "subscription.renewed",
        /// The next interval of a subscription could not be paid.
        SubscriptionRenewalFailed "subscription.renewal_failed",
        /// A recipient was created.
        RecipientCreated "recipient.created",
        /// A recipient was changed.
        RecipientUpdated "recipient.updated",
        /// A transfer was paid.
        TransferCreated "transfer.created",
        /// The bank sent a transfer back.
        TransferFailed "transfer.failed",
        /// Money arrived from outside.
        DepositCreated "deposit.created",
        /// A merchant was referred.
        SubMerchantApplicationSubmitted "sub_merchant_application.submitted",
        /// A referred merchant may trade.
        SubMerchantApplicationActivated "sub_merchant_application.activated",
        /// A referred merchant was declined.
        SubMerchantApplicationDeclined "sub_merchant_application.declined",
        /// A referred merchant may not trade until it is decided again.
        SubMerchantApplicationOnHold "sub_merchant_application.on_hold",
        /// A dispute arrived.
        DisputeEvidenceRequired "dispute.evidence_required",
        /// A dispute was resolved otherwise, in the merchant's favour.
        DisputeResolved "dispute.resolved",
        /// The cardholder withdrew a dispute.
        DisputeCancelled "dispute.cancelled",
        /// The network reviews the evidence of a dispute.
        DisputeEvidenceUnderReview "dispute.evidence_under_review",
        /// A dispute was decided for the cardholder.
        DisputeLost "dispute.lost",
        /// A dispute was decided for the merchant.
        DisputeWon "dispute.won",
        /// A dispute got no answer in time.
        DisputeExpired "dispute.expired",
        /// The merchant accepted a dispute.
        DisputeAccepted "dispute.accepted",
        /// A decided dispute is reviewed once more.
        DisputeArbitrationUnderReview "dispute.arbitration_under_review",
        /// A dispute was finally decided for the merchant.
        DisputeArbitrationWon "dispute.arbitration_won",
        /// A dispute was finally decided for the cardholder.
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
