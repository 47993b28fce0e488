//! Evidence batch (specification, Dispute).

use entity::evidence::EvidenceKind;
use macros::view;

use super::file::File;

/// The evidence against a dispute: only what was set.
#[view]
#[derive(Default)]
pub struct EvidenceBatch {
    /// File.
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_evidence_file: Option<File>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_evidence_text: Option<String>,
    /// File.
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_communication_file: Option<File>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_communication_text: Option<String>,
    /// File.
    #[serde(skip_serializing_if = "Option::is_none")]
    invoice_or_receipt_file: Option<File>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    invoice_or_receipt_text: Option<String>,
    /// File.
    #[serde(skip_serializing_if = "Option::is_none")]
    invoice_showing_distinct_transactions_file: Option<File>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    invoice_showing_distinct_transactions_text: Option<String>,
    /// File.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof_of_delivery_or_service_file: Option<File>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof_of_delivery_or_service_text: Option<String>,
    /// File.
    #[serde(skip_serializing_if = "Option::is_none")]
    recurring_transaction_agreement_file: Option<File>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    recurring_transaction_agreement_text: Option<String>,
    /// File.
    #[serde(skip_serializing_if = "Option::is_none")]
    refund_or_cancellation_policy_file: Option<File>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    refund_or_cancellation_policy_text: Option<String>,
}

impl EvidenceBatch {
    /// Show the evidence of a kind.
    pub fn set(&mut self, kind: EvidenceKind, file: Option<File>, text: Option<String>) {
        let (shown_file, shown_text) = match kind {
            EvidenceKind::AdditionalEvidence => {
                (&mut self.additional_evidence_file, &mut self.additional_evidence_text)
            }
            EvidenceKind::CustomerCommunication => {
                (&mut self.customer_communication_file, &mut self.customer_communication_text)
            }
            EvidenceKind::InvoiceOrReceipt => {
                (&mut self.invoice_or_receipt_file, &mut self.invoice_or_receipt_text)
            }
            EvidenceKind::InvoiceShowingDistinctTransactions => (
                &mut self.invoice_showing_distinct_transactions_file,
                &mut self.invoice_showing_distinct_transactions_text,
            ),
            EvidenceKind::ProofOfDeliveryOrService => {
                (&mut self.proof_of_delivery_or_service_file, &mut self.proof_of_delivery_or_service_text)
            }
            EvidenceKind::RecurringTransactionAgreement => (
                &mut self.recurring_transaction_agreement_file,
                &mut self.recurring_transaction_agreement_text,
            ),
            EvidenceKind::RefundOrCancellationPolicy => {
                (&mut self.refund_or_cancellation_policy_file, &mut self.refund_or_cancellation_policy_text)
            }
        };
        (*shown_file, *shown_text) = (file, text);
    }
}
