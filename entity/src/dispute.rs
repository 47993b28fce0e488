//! Disputes (specification, Dispute).

use crate::{AccountToken, ChargeToken, Currency, DisputeToken, Timestamp};

table! {
    /// One dispute of a charge.
    "disputes" [account_id: AccountToken, id: DisputeToken] {
        charge_id: ChargeToken,
        category: DisputeCategory,
        status: DisputeStatus,
        /// Whether the merchant has paid recovery and fee and did not get them back. The status does not tell: an arbitration
        /// may follow a lost dispute or a won one.
        charged_back: bool,
        amount: i64,
        currency: Currency,
        /// `amount` in AUD cents, at the charge's rate.
        settlement_amount: i64,
        evidence_required_by: Timestamp,
        /// The same while evidence is required; null in every other status.
        expires_at: Option<Timestamp>,
        /// The submission of its evidence, which is frozen from then on.
        submitted_at: Option<Timestamp>,
        received_at: Timestamp,
    }
}

string_enum! {
    /// The reason of a dispute.
    pub closed enum DisputeCategory {
        /// No reason that the network names.
        General "general",
    }
}

string_enum! {
    /// The status of a dispute.
    pub closed enum DisputeStatus {
        /// The merchant is asked for evidence.
        EvidenceRequired "evidence_required",
        /// The network reviews the evidence.
        EvidenceUnderReview "evidence_under_review",
        /// Decided for the merchant.
        Won "won",
        /// Decided for the cardholder.
        Lost "lost",
        /// The merchant accepted it.
        Accepted "accepted",
        /// The merchant did not answer in time.
        Expired "expired",
        /// The cardholder withdrew it.
        Cancelled "cancelled",
        /// Resolved otherwise, in the merchant's favour.
        Resolved "resolved",
        /// The loser of the review has asked for another one.
        ArbitrationUnderReview "arbitration_under_review",
        /// Finally decided for the merchant.
        ArbitrationWon "arbitration_won",
        /// Finally decided for the cardholder.
        ArbitrationLost "arbitration_lost",
    }
}

impl DisputeStatus {
    /// Returns whether it is not decided yet: the charge has an active chargeback.
    pub fn is_open(self) -> bool {
        match self {
            Self::EvidenceRequired | Self::EvidenceUnderReview | Self::ArbitrationUnderReview => true,
            Self::Won
            | Self::Lost
            | Self::Accepted
            | Self::Expired
            | Self::Cancelled
            | Self::Resolved
            | Self::ArbitrationWon
            | Self::ArbitrationLost => false,
        }
    }

    /// Returns whether it is not decided in the merchant's favour: its charge cannot be refunded (`docs/decisions.md`, 177).
    pub fn is_standing(self) -> bool {
        match self {
            Self::Won | Self::Cancelled | Self::Resolved | Self::ArbitrationWon => false,
            Self::EvidenceRequired
            | Self::EvidenceUnderReview
            | Self::Lost
            | Self::Accepted
            | Self::Expired
            | Self::ArbitrationUnderReview
            | Self::ArbitrationLost => true,
        }
    }
}

/// Evidence against disputes.
pub mod evidence {
    use crate::{AccountToken, DisputeToken, FileToken};

    table! {
        /// The evidence of one kind; there is no row without any.
        "evidence" [account_id: AccountToken, dispute_id: DisputeToken, kind: EvidenceKind] {
            file_id: Option<FileToken>,
            /// The merchant's text.
            text: Option<String>,
        }
    }

    string_enum! {
        /// A kind of evidence. Each has a file and a text in a batch of evidence.
        pub closed enum EvidenceKind {
            /// The goods were delivered, or the service was provided.
            ProofOfDeliveryOrService "proof_of_delivery_or_service",
            /// An invoice or receipt of the purchase.
            InvoiceOrReceipt "invoice_or_receipt",
            /// Two charges that look alike paid for two purchases.
            InvoiceShowingDistinctTransactions "invoice_showing_distinct_transactions",
            /// Messages between the merchant and the customer.
            CustomerCommunication "customer_communication",
            /// The policy that the customer accepted.
            RefundOrCancellationPolicy "refund_or_cancellation_policy",
            /// The customer's consent to recurring payments.
            RecurringTransactionAgreement "recurring_transaction_agreement",
            /// Any other evidence.
            AdditionalEvidence "additional_evidence",
        }
    }
}

/// Activities of disputes.
pub mod dispute_activity {
    use super::DisputeStatus;
    use crate::{AccountToken, DisputeActivityToken, DisputeToken, Timestamp};

    table! {
        /// An entry of a dispute's activity feed.
        "dispute_activities" [account_id: AccountToken, id: DisputeActivityToken] {
            dispute_id: DisputeToken,
            kind: ActivityKind,
            /// The dispute's new status; null if money moved.
            status: Option<DisputeStatus>,
            /// If money moved, AUD cents, negative for debits; otherwise the disputed amount then, in the dispute's currency, null in
            /// rows of former releases.
            amount: Option<i64>,
            created_at: Timestamp,
        }
    }

    string_enum! {
        /// The kinds of activity.
        pub enum ActivityKind {
            /// It was received.
            Created "created",
            /// Its status changed.
            Updated "updated",
            /// The disputed amount was taken or came back.
            Recovery "chargeback_recovery",
            /// The fee was taken or came back.
            Fee "chargeback_fee",
        }
    }

    string_enum! {
        /// What happened to a dispute, its money or its charge. More types may join: accept unknown ones.
        pub open enum ActivityType {
            /// The dispute arrived.
            DisputeCreated "dispute.created",
            /// The status of the dispute changed.
            DisputeUpdated "dispute.updated",
            /// Money was taken or came back.
            LedgerEntryCreated "ledger_entry.created",
            /// The disputed charge took its money.
            ChargeCaptured "charge.captured",
        }
    }

    string_enum! {
        /// What an activity of a dispute is about.
        pub closed enum ActivityObject {
            /// The dispute itself.
            Dispute "dispute",
            /// A movement of money.
            LedgerEntry "ledger_entry",
            /// The disputed charge.
            Charge "charge",
        }
    }

    string_enum! {
        /// Why a dispute moved money. More reasons may join: accept unknown ones.
        pub open enum LedgerAnnotation {
            /// The disputed amount was taken, or came back.
            ChargebackRecovery "chargeback_recovery",
            /// The fee of the dispute was taken, or came back.
            ChargebackFee "chargeback_fee",
        }
    }
}

/// Disputes that simulated cardholders will open.
pub mod scheduled_dispute {
    use crate::{AccountToken, ChargeToken, Timestamp};

    table! {
        /// A captured charge that its simulated cardholder disputes at once.
        "scheduled_disputes" [account_id: AccountToken, id: ChargeToken] {
            arrives_at: Timestamp,
        }
    }
}
