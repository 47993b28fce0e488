//! Transfer and its line items (specification, Transfer).

use entity::transfer::{self, TransferStatus};
use entity::{
    ChargeToken, Currency, JsonText, RecipientToken, Timestamp, TransferToken, charge, journal_entry, posting,
};
use macros::view;

use crate::services::bank_accounts::view::BankAccount;

/// A transfer of money to a bank account.
#[view(of(transfer::Model))]
pub struct Transfer {
    /// `tfer_...`
    token: TransferToken,
    /// `succeeded`, or `failed` once the bank has returned it.
    #[schema(value_type = String, example = "succeeded")]
    status: TransferStatus,
    /// ISO 4217 code.
    #[shows(Currency::Aud)]
    currency: Currency,
    /// A description for your records.
    #[schema(example = "Earnings for may")]
    description: String,
    /// The amount in cents.
    #[schema(example = 400)]
    amount: i64,
    /// The sum of the negative lines, shown positive.
    #[schema(example = 0)]
    total_debits: i64,
    /// The sum of the positive lines.
    #[schema(example = 400)]
    total_credits: i64,
    /// Creation time.
    created_at: Timestamp,
    /// The time of the payment.
    // Transfers need no answer of a bank.
    #[shows(row.created_at)]
    paid_at: Timestamp,
    /// The text on the bank statement.
    #[schema(example = "First account")]
    reference: String,
    /// The number of line items; absent in a recipient's list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1)]
    #[shows(Some(row.line_items_count))]
    line_items_count: Option<i64>,
    /// The bank account at the time of the payment.
    #[schema(value_type = BankAccount)]
    bank_account: JsonText,
    /// The recipient; null means your own bank account.
    #[schema(example = "rp_AZqYv3rVcBKUQ1mHn7tKRw")]
    #[shows(row.recipient_id)]
    recipient: Option<RecipientToken>,
}

impl Transfer {
    /// Returns the transfer as lists of recipients show it.
    #[must_use]
    pub fn of_recipient(row: transfer::Model) -> Self {
        Self { line_items_count: None, ..Self::from(row) }
    }
}

/// A line item of a transfer.
#[view]
pub struct LineItem {
    /// `charge_merchant_entitlement` or `adjustment`.
    #[schema(example = "charge_merchant_entitlement")]
    r#type: &'static str,
    /// The amount in cents; negative lines reduce the transfer.
    #[schema(example = 363)]
    amount: i64,
    /// ISO 4217 code.
    currency: Currency,
    /// The time of the movement.
    created_at: Timestamp,
    /// `charge`; present for charges only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "charge")]
    object: Option<&'static str>,
    /// The charge; present for charges only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ch_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: Option<ChargeToken>,
    /// A summary of the charge; present for charges only.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<ChargeInShort>,
}

/// A summary of a charge.
#[view]
pub struct ChargeInShort {
    /// The purchase.
    #[schema(example = "test charge")]
    description: String,
    /// In the currency's base unit.
    #[schema(example = 400)]
    amount: i64,
    /// The fees in AUD cents.
    #[schema(example = 37)]
    total_fees: i64,
    /// The merchant's share in AUD cents.
    #[schema(example = 363)]
    merchant_entitlement: i64,
}

impl LineItem {
    /// Returns the single line of a transfer made on request.
    pub fn of(transfer: &transfer::Model) -> Self {
        Self::adjustment(transfer.amount, transfer.created_at)
    }

    /// Returns a line of a settlement, with its charge for an entitlement.
    pub fn settled(
        line: &posting::Model,
        entry: &journal_entry::Model,
        charge: Option<charge::Model>,
    ) -> Self {
        let adjustment = Self::adjustment(line.amount, entry.created_at);
        let Some(charge) = charge else { return adjustment };
        Self {
            r#type: "charge_merchant_entitlement",
            object: Some("charge"),
            token: Some(charge.id),
            record: Some(ChargeInShort {
                description: charge.description,
                amount: charge.amount,
                total_fees: charge.fees,
                merchant_entitlement: charge.entitlement,
            }),
            ..adjustment
        }
    }

    fn adjustment(amount: i64, created_at: Timestamp) -> Self {
        Self {
            r#type: "adjustment",
            amount,
            currency: Currency::Aud,
            created_at,
            object: None,
            token: None,
            record: None,
        }
    }
}
