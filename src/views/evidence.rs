//! Evidence batch (specification, Dispute).

use entity::evidence::EvidenceKind;
use serde::Serialize;
use utoipa::ToSchema;

use super::file::File;

/// The evidence of a dispute; fields without evidence are absent.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct EvidenceBatch {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    additional_evidence_file: Option<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    additional_evidence_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    customer_communication_file: Option<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    customer_communication_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    invoice_or_receipt_file: Option<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    invoice_or_receipt_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    invoice_showing_distinct_transactions_file: Option<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    invoice_showing_distinct_transactions_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    proof_of_delivery_or_service_file: Option<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    proof_of_delivery_or_service_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    recurring_transaction_agreement_file: Option<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    recurring_transaction_agreement_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    refund_or_cancellation_policy_file: Option<File>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    refund_or_cancellation_policy_text: Option<String>,
}

impl EvidenceBatch {
    /// Sets the evidence of a kind.
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
