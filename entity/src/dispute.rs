//! Disputes (specification, Dispute; decisions 9).

use sea_orm::entity::prelude::*;

use crate::{AccountToken, ChargeToken, Currency, DisputeToken, Timestamp};

/// One dispute of a charge.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "disputes")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The dispute's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: DisputeToken,
    /// What is disputed.
    pub charge_id: ChargeToken,
    /// Why.
    pub category: DisputeCategory,
    /// The one column that says where the dispute stands.
    pub status: DisputeStatus,
    /// Whether the merchant has paid recovery and fee, and has not got them back. An arbitration does not tell: it may
    /// follow a lost dispute or a won one.
    pub charged_back: bool,
    /// In the currency's base unit.
    pub amount: i64,
    /// The charge's.
    pub currency: Currency,
    /// `amount` in AUD cents, at the charge's rate.
    pub settlement_amount: i64,
    /// Until when evidence may be submitted, by the account's clock.
    pub evidence_required_by: Timestamp,
    /// The same while evidence is required; null in every other status.
    pub expires_at: Option<Timestamp>,
    /// When its evidence was submitted, by the account's clock; from then on that is frozen.
    pub submitted_at: Option<Timestamp>,
    /// By the account's clock.
    pub received_at: Timestamp,
}

string_enum! {
    /// Why a cardholder disputes.
    pub enum DisputeCategory {
        /// For no reason that the network names.
        General "general",
    }
}

string_enum! {
    /// Where a dispute stands.
    pub enum DisputeStatus {
        /// The merchant is asked for evidence.
        EvidenceRequired "evidence_required",
        /// The network looks at it.
        EvidenceUnderReview "evidence_under_review",
        /// Decided for the merchant.
        Won "won",
        /// Decided for the cardholder.
        Lost "lost",
        /// The merchant gave in.
        Accepted "accepted",
        /// The merchant did not answer in time.
        Expired "expired",
        /// The cardholder withdrew it.
        Cancelled "cancelled",
        /// Settled otherwise, in the merchant's favour.
        Resolved "resolved",
        /// The loser of the review has asked for another one.
        ArbitrationUnderReview "arbitration_under_review",
        /// Decided for the merchant in the end.
        ArbitrationWon "arbitration_won",
        /// Decided for the cardholder in the end.
        ArbitrationLost "arbitration_lost",
    }
}

impl DisputeStatus {
    /// Whether nobody has decided it yet: the charge has an active chargeback.
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

    /// Whether it is not decided in the merchant's favour: its charge cannot be refunded (decisions 6).
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

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

/// What is brought forward against a dispute.
pub mod evidence {
    use sea_orm::entity::prelude::*;

    use crate::{AccountToken, DisputeToken, FileToken};

    /// The evidence of one kind; a row where there is any.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "evidence")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// Against what.
        #[sea_orm(primary_key, auto_increment = false)]
        pub dispute_id: DisputeToken,
        /// What it shows.
        #[sea_orm(primary_key, auto_increment = false)]
        pub kind: EvidenceKind,
        /// A file that shows it.
        pub file_id: Option<FileToken>,
        /// What the merchant says of it.
        pub text: Option<String>,
    }

    string_enum! {
        /// What evidence can show, in the order of the specification's `relevant_evidence`.
        pub enum EvidenceKind {
            ProofOfDeliveryOrService "proof_of_delivery_or_service",
            InvoiceOrReceipt "invoice_or_receipt",
            InvoiceShowingDistinctTransactions "invoice_showing_distinct_transactions",
            CustomerCommunication "customer_communication",
            RefundOrCancellationPolicy "refund_or_cancellation_policy",
            RecurringTransactionAgreement "recurring_transaction_agreement",
            AdditionalEvidence "additional_evidence",
        }
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

/// What happened to a dispute.
pub mod dispute_activity {
    use sea_orm::entity::prelude::*;

    use super::DisputeStatus;
    use crate::{AccountToken, DisputeActivityToken, DisputeToken, Timestamp};

    /// An entry of a dispute's activity feed.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "dispute_activities")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// The entry.
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: DisputeActivityToken,
        /// To which dispute.
        pub dispute_id: DisputeToken,
        /// What.
        pub kind: ActivityKind,
        /// The dispute's from then on; null where money moved.
        pub status: Option<DisputeStatus>,
        /// AUD cents, negative for debits; null but where money moved.
        pub amount: Option<i64>,
        /// By the account's clock.
        pub created_at: Timestamp,
    }

    string_enum! {
        /// What can happen to a dispute.
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

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}

/// Disputes that are foretold.
pub mod foretold_dispute {
    use sea_orm::entity::prelude::*;

    use crate::{AccountToken, ChargeToken, Timestamp};

    /// A captured charge whose simulated cardholder disputes it at once.
    #[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
    #[sea_orm(table_name = "foretold_disputes")]
    pub struct Model {
        /// Whose row it is.
        #[sea_orm(primary_key, auto_increment = false)]
        pub account_id: AccountToken,
        /// The charge.
        #[sea_orm(primary_key, auto_increment = false)]
        pub id: ChargeToken,
        /// When the dispute arrives, by the account's clock.
        pub arrives_at: Timestamp,
    }

    /// None.
    #[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
    pub enum Relation {}

    impl ActiveModelBehavior for ActiveModel {}
}
