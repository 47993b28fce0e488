//! Transfer and its line items (specification, Transfer).

use entity::transfer::{self, TransferStatus};
use entity::{
    ChargeToken, Currency, JsonText, RecipientToken, Timestamp, TransferToken, charge, journal_entry, posting,
};
use macros::view;

use super::bank_account::BankAccount;

/// Money paid out.
#[view(of(transfer::Model))]
pub struct Transfer {
    /// `tfer_...`
    token: TransferToken,
    /// `succeeded`, or `failed` once the bank has sent it back.
    #[schema(value_type = String, example = "succeeded")]
    status: TransferStatus,
    /// ISO 4217 code.
    #[shows(Currency::Aud)]
    currency: Currency,
    /// For your records.
    #[schema(example = "Earnings for may")]
    description: String,
    /// In cents.
    #[schema(example = 400)]
    amount: i64,
    /// The sum of the negative lines, shown positive.
    #[schema(example = 0)]
    total_debits: i64,
    /// The sum of the positive lines.
    #[schema(example = 400)]
    total_credits: i64,
    /// When it was made.
    created_at: Timestamp,
    /// When it was paid.
    // No bank keeps us waiting.
    #[shows(row.created_at)]
    paid_at: Timestamp,
    /// What the bank statement says.
    #[schema(example = "First account")]
    reference: String,
    /// How many line items it has; absent in a recipient's list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1)]
    #[shows(Some(row.line_items_count))]
    line_items_count: Option<i64>,
    /// Where it was paid, as it was then.
    #[schema(value_type = BankAccount)]
    bank_account: JsonText,
    /// Who was paid; null is your own bank account.
    #[schema(example = "rp_AZqYv3rVcBKUQ1mHn7tKRw")]
    #[shows(row.recipient_id)]
    recipient: Option<RecipientToken>,
}

impl Transfer {
    /// As the lists of recipients show it.
    #[must_use]
    pub fn of_recipient(row: transfer::Model) -> Self {
        Self { line_items_count: None, ..Self::from(row) }
    }
}

/// What a transfer pays out.
#[view]
pub struct LineItem {
    /// `charge_merchant_entitlement` or `adjustment`.
    #[schema(example = "charge_merchant_entitlement")]
    r#type: &'static str,
    /// In cents; negative where it reduces the transfer.
    #[schema(example = 363)]
    amount: i64,
    /// ISO 4217 code.
    currency: Currency,
    /// When the money moved.
    created_at: Timestamp,
    /// `charge`; charges only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "charge")]
    object: Option<&'static str>,
    /// The charge; charges only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ch_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: Option<ChargeToken>,
    /// The charge in short; charges only.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<ChargeInShort>,
}

/// A charge in short.
#[view]
pub struct ChargeInShort {
    /// What was bought.
    #[schema(example = "test charge")]
    description: String,
    /// In the currency's base unit.
    #[schema(example = 400)]
    amount: i64,
    /// In AUD cents.
    #[schema(example = 37)]
    total_fees: i64,
    /// In AUD cents.
    #[schema(example = 363)]
    merchant_entitlement: i64,
}

impl LineItem {
    /// The one line of a transfer that was made on request.
    pub fn of(transfer: &transfer::Model) -> Self {
        Self::adjustment(transfer.amount, transfer.created_at)
    }

    /// A line of a settlement, with its charge where it is one's entitlement.
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
