//! Parameters of disputes (specification, Disputes).

use entity::dispute::{DisputeCategory, DisputeStatus};
use entity::evidence::EvidenceKind;
use serde::Deserialize;
use utoipa::ToSchema;
use validator::Validate;

use super::{FieldErrors, ParameterTree, Params, Patch, Search, non_blank};
use crate::limits::EVIDENCE_TEXT_CHARACTERS_MAX;

/// A dispute that arrives.
#[derive(Debug, Clone, Deserialize, Validate, ToSchema)]
pub struct NewDispute {
    /// A captured charge.
    #[schema(example = "ch_AZqYv3rVcBKUQ1mHn7tKRw")]
    pub charge_token: String,
    /// In the charge's currency; all that can still be disputed if absent.
    #[validate(range(min = 1))]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_i64, example = 400)]
    pub amount: Option<i64>,
    /// `general`, which it also is if absent.
    #[schema(value_type = Option<String>, example = "general")]
    pub category: Option<DisputeCategory>,
}

/// What the network decides.
#[derive(Debug, Clone, Deserialize, Validate, ToSchema)]
pub struct DecidedDispute {
    /// The status that the dispute gets.
    #[schema(value_type = String, example = "cancelled")]
    pub status: DisputeStatus,
}

/// What disputes to search for.
#[derive(Debug)]
pub struct DisputeSearch {
    /// What searches have in common.
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
        let Params { value: asked, mut faults } = tree.params::<DisputeSearchParams>();
        let Params { value: mut search, faults: others } = Search::read(tree, sorts, "received_at");
        faults.append(others);
        search.query = non_blank(asked.query.as_deref()).map(str::to_owned);
        Params { value: Self { search, status: asked.status }, faults }
    }
}

/// Changes of a batch of evidence: absent fields stay, empty ones are cleared.
// JSON null is absent, as everywhere.
#[derive(Debug, Default, Deserialize, Validate, ToSchema)]
pub struct ChangedEvidence {
    /// File token.
    #[schema(value_type = Option<String>, example = "file_AZqYv3rVcBKUQ1mHn7tKRw")]
    pub additional_evidence_file: Option<Patch<String>>,
    /// Text.
    #[schema(value_type = Option<String>, max_length = 500)]
    pub additional_evidence_text: Option<Patch<String>>,
    /// File token.
    #[schema(value_type = Option<String>)]
    pub customer_communication_file: Option<Patch<String>>,
    /// Text.
    #[schema(value_type = Option<String>, max_length = 500)]
    pub customer_communication_text: Option<Patch<String>>,
    /// File token.
    #[schema(value_type = Option<String>)]
    pub invoice_or_receipt_file: Option<Patch<String>>,
    /// Text.
    #[schema(value_type = Option<String>, max_length = 500)]
    pub invoice_or_receipt_text: Option<Patch<String>>,
    /// File token.
    #[schema(value_type = Option<String>)]
    pub invoice_showing_distinct_transactions_file: Option<Patch<String>>,
    /// Text.
    #[schema(value_type = Option<String>, max_length = 500)]
    pub invoice_showing_distinct_transactions_text: Option<Patch<String>>,
    /// File token.
    #[schema(value_type = Option<String>)]
    pub proof_of_delivery_or_service_file: Option<Patch<String>>,
    /// Text.
    #[schema(value_type = Option<String>, max_length = 500)]
    pub proof_of_delivery_or_service_text: Option<Patch<String>>,
    /// File token.
    #[schema(value_type = Option<String>)]
    pub recurring_transaction_agreement_file: Option<Patch<String>>,
    /// Text.
    #[schema(value_type = Option<String>, max_length = 500)]
    pub recurring_transaction_agreement_text: Option<Patch<String>>,
    /// File token.
    #[schema(value_type = Option<String>)]
    pub refund_or_cancellation_policy_file: Option<Patch<String>>,
    /// Text.
    #[schema(value_type = Option<String>, max_length = 500)]
    pub refund_or_cancellation_policy_text: Option<Patch<String>>,
}

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

impl Params<ChangedEvidence> {
    /// The wishes, kind by kind in the order of the parameters; with the faults found so far.
    pub fn kinds(self) -> (Vec<ChangedKind>, FieldErrors) {
        use EvidenceKind as Kind;

        let Self { value: asked, mut faults } = self;
        let kinds = [
            (Kind::AdditionalEvidence, asked.additional_evidence_file, asked.additional_evidence_text),
            (
                Kind::CustomerCommunication,
                asked.customer_communication_file,
                asked.customer_communication_text,
            ),
            (Kind::InvoiceOrReceipt, asked.invoice_or_receipt_file, asked.invoice_or_receipt_text),
            (
                Kind::InvoiceShowingDistinctTransactions,
                asked.invoice_showing_distinct_transactions_file,
                asked.invoice_showing_distinct_transactions_text,
            ),
            (
                Kind::ProofOfDeliveryOrService,
                asked.proof_of_delivery_or_service_file,
                asked.proof_of_delivery_or_service_text,
            ),
            (
                Kind::RecurringTransactionAgreement,
                asked.recurring_transaction_agreement_file,
                asked.recurring_transaction_agreement_text,
            ),
            (
                Kind::RefundOrCancellationPolicy,
                asked.refund_or_cancellation_policy_file,
                asked.refund_or_cancellation_policy_text,
            ),
        ];
        let kinds = kinds.map(|(kind, file, text)| ChangedKind {
            kind,
            file: file.unwrap_or_default(),
            text: text.unwrap_or_default(),
        });
        for ChangedKind { kind, text, .. } in &kinds {
            if let Patch::Value(text) = text
                && text.chars().count() > EVIDENCE_TEXT_CHARACTERS_MAX
            {
                let said = format!("is too long (maximum is {EVIDENCE_TEXT_CHARACTERS_MAX} characters)");
                faults.add(&format!("{}_text", kind.code()), said);
            }
        }
        (kinds.into(), faults)
    }
}
