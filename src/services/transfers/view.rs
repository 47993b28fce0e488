//! Transfer and its line items (specification, Transfer).

use entity::transfer::{self, LineItemType, TransferStatus};
use entity::{
    ChargeToken, Currency, JsonText, RecipientToken, Timestamp, TransferToken, charge, journal_entry, posting,
};
use macros::view;

use crate::services::bank_accounts::view::BankAccount;

/// A transfer of money to a bank account.
#[view(of(transfer::Model))]
pub struct Transfer {
    /// The transfer's token, `tfer_...`.
    token: TransferToken,
    /// Whether the money was paid.
    status: TransferStatus,
    /// The currency of the amounts, an ISO 4217 code.
    #[shows(Currency::Aud)]
    currency: Currency,
    /// The description for your own records.
    #[schema(example = "Earnings for may")]
    description: String,
    /// The paid amount in cents.
    #[schema(example = 400)]
    amount: i64,
    /// The sum of the line items that reduce the transfer, in cents, as a positive number.
    #[schema(example = 0)]
    total_debits: i64,
    /// The sum of the line items that add to the transfer, in cents.
    #[schema(example = 400)]
    total_credits: i64,
    /// The time of the transfer's creation.
    created_at: Timestamp,
    /// The time of the payment.
    // Transfers need no answer of a bank.
    #[shows(row.created_at)]
    paid_at: Timestamp,
    /// The text on the statement of the bank account.
    #[schema(example = "First account")]
    reference: String,
    /// The number of line items; absent in the list of a recipient's transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 1)]
    #[shows(Some(row.line_items_count))]
    line_items_count: Option<i64>,
    /// The bank account at the time of the payment.
    #[schema(value_type = BankAccount)]
    bank_account: JsonText,
    /// The token of the recipient, `rp_...`; null means your own bank account.
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

/// A movement of money that a transfer pays out, or that reduces it.
#[view]
pub struct LineItem {
    /// What moved the money.
    r#type: LineItemType,
    /// The amount in cents; a negative one reduces the transfer.
    #[schema(example = 363)]
    amount: i64,
    /// The currency of the amount, an ISO 4217 code.
    currency: Currency,
    /// The time of the movement.
    created_at: Timestamp,
    /// Always `charge`; absent unless the line is about a charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "charge")]
    object: Option<&'static str>,
    /// The charge's token, `ch_...`; absent unless the line is about a charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "ch_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: Option<ChargeToken>,
    /// A summary of the charge; absent unless the line is about a charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<ChargeInShort>,
}

/// A summary of a charge.
#[view]
pub struct ChargeInShort {
    /// What was bought, as the request described it.
    #[schema(example = "test charge")]
    description: String,
    /// The amount in the base unit of the charge's currency.
    #[schema(example = 400)]
    amount: i64,
    /// The fees in AUD cents.
    #[schema(example = 37)]
    total_fees: i64,
    /// What remained for you, in AUD cents.
    #[schema(example = 363)]
    merchant_entitlement: i64,
}

impl LineItem {
    /// Returns the single line of a transfer made on request.
    pub fn from_row(transfer: &transfer::Model) -> Self {
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
            r#type: LineItemType::ChargeMerchantEntitlement,
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
            r#type: LineItemType::Adjustment,
            amount,
            currency: Currency::Aud,
            created_at,
            object: None,
            token: None,
            record: None,
        }
    }
}
