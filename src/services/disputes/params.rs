//! Parameters of disputes (specification, Disputes).

use entity::dispute::{DisputeCategory, DisputeStatus};
use entity::evidence::EvidenceKind;
use macros::params;
use serde::Deserialize;
use validator::Validate;

use crate::limits::EVIDENCE_TEXT_LENGTH_MAX;
use crate::params::{FieldErrors, ParameterTree, Params, Patch, Search, non_blank};

/// A dispute to simulate.
#[params]
pub struct NewDispute {
    /// The token of a captured charge, `ch_...`.
    #[schema(example = "ch_AZqYv3rVcBKUQ1mHn7tKRw")]
    pub charge_token: String,
    /// The disputed amount in the base unit of the charge's currency; all that can still be disputed if absent.
    #[validate(range(min = 1))]
    #[schema(example = 400)]
    pub amount: Option<i64>,
    /// The reason of the dispute; `general` if absent.
    pub category: Option<DisputeCategory>,
}

/// A decision of the card network.
#[params]
pub struct DecidedDispute {
    /// The status that the dispute gets.
    pub status: DisputeStatus,
}

#[derive(Debug)]
pub struct DisputeSearch {
    pub search: Search,
    /// Only disputes in this status.
    pub status: Option<DisputeStatus>,
}

#[derive(Deserialize, Validate)]
struct DisputeSearchParams {
    query: Option<String>,
    status: Option<DisputeStatus>,
}

impl DisputeSearch {
    /// Reads the parameters of GET /disputes/search.
    pub fn read(tree: &impl ParameterTree, sorts: &'static [&'static str]) -> Params<Self> {
        // Read for its place in the order of faults.
        let Params { value: params, mut faults } = tree.params::<DisputeSearchParams>();
        let Params { value: mut search, faults: others } = Search::read(tree, sorts, "received_at");
        faults.append(others);
        search.query = non_blank(params.query.as_deref()).map(str::to_owned);
        Params { value: Self { search, status: params.status }, faults }
    }
}

/// Passes the kinds of evidence to a macro, each with its two fields, in the order of the fields.
macro_rules! for_evidence_kinds {
    ($then:ident) => {
        $then! {
            AdditionalEvidence #[schema(example = "file_AZqYv3rVcBKUQ1mHn7tKRw")]
                additional_evidence_file additional_evidence_text,
            CustomerCommunication customer_communication_file customer_communication_text,
            InvoiceOrReceipt invoice_or_receipt_file invoice_or_receipt_text,
            InvoiceShowingDistinctTransactions
                invoice_showing_distinct_transactions_file invoice_showing_distinct_transactions_text,
            ProofOfDeliveryOrService proof_of_delivery_or_service_file proof_of_delivery_or_service_text,
            RecurringTransactionAgreement
                recurring_transaction_agreement_file recurring_transaction_agreement_text,
            RefundOrCancellationPolicy refund_or_cancellation_policy_file refund_or_cancellation_policy_text,
        }
    };
}
pub(crate) use for_evidence_kinds;

macro_rules! changed_evidence {
    ($($kind:ident $(#[$example:meta])? $file:ident $text:ident,)+) => {
        /// Changes of a batch of evidence. Absent fields stay, and empty ones are cleared.
        // JSON null is absent, as everywhere.
        #[params]
        pub struct ChangedEvidence {$(
            /// The token of a file, `file_...`, or an empty text for none; absent, the old one stays.
            $(#[$example])?
            pub $file: Option<Patch<String>>,
            /// The text, or an empty one for none; absent, the old one stays.
            #[validate(length(max = EVIDENCE_TEXT_LENGTH_MAX))]
            pub $text: Option<Patch<String>>,
        )+}

        impl Params<ChangedEvidence> {
            /// Returns the changes, kind by kind in the order of the parameters, and the faults found so far.
            pub fn kinds(self) -> (Vec<ChangedKind>, FieldErrors) {
                let Self { value, faults } = self;
                let kinds = vec![$(ChangedKind {
                    kind: EvidenceKind::$kind,
                    file: value.$file.unwrap_or_default(),
                    text: value.$text.unwrap_or_default(),
                }),+];
                (kinds, faults)
            }
        }
    };
}
for_evidence_kinds!(changed_evidence);

/// Wishes for the evidence of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedKind {
    /// What it shows.
    pub kind: EvidenceKind,
    /// A file's token.
    pub file: Patch<String>,
    /// What the merchant says of it.
    pub text: Patch<String>,
}

impl ChangedKind {
    /// The name of the parameter with the file's token.
    pub fn file_param(&self) -> String {
        format!("{}_file", self.kind.code())
    }
}
