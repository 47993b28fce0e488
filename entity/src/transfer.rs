//! Transfers: money paid out (specification, Transfer).

use crate::{AccountToken, JsonText, RecipientToken, Timestamp, TransferToken};

table! {
    /// One transfer. It is paid at its creation.
    "transfers" [account_id: AccountToken, id: TransferToken] {
        kind: TransferKind,
        status: TransferStatus,
        /// Null is the account itself.
        recipient_id: Option<RecipientToken>,
        /// For the account's records.
        description: String,
        amount: i64,
        /// The fee, which is debited in addition.
        fee: i64,
        /// The sum of the negative lines, shown positive.
        total_debits: i64,
        /// The sum of the positive lines.
        total_credits: i64,
        line_items_count: i64,
        /// The text of the bank statement.
        reference: String,
        /// The bank account at the time of payment, as the API shows it.
        bank_account: JsonText,
        /// The time at which the bank will send it back; null if it will not, or has.
        returns_at: Option<Timestamp>,
        /// The folded description, which searches read.
        search_text: String,
        created_at: Timestamp,
    }
}

string_enum! {
    /// The reason of a transfer.
    pub enum TransferKind {
        /// A request.
        Manual "manual",
        /// The account's schedule: its lines are the movements that it pays out.
        Settlement "settlement",
    }
}

string_enum! {
    /// The status of a transfer.
    pub closed enum TransferStatus {
        /// The money was paid.
        Succeeded "succeeded",
        /// The bank sent the money back.
        Failed "failed",
    }
}

string_enum! {
    /// The state of the transfer that paid a charge out.
    pub closed enum ChargeTransferState {
        /// The money was paid.
        Paid "paid",
        /// The bank sent the money back.
        Failed "failed",
    }
}

string_enum! {
    /// What moved the money of a line item. More types may join: accept unknown ones.
    pub open enum LineItemType {
        /// What remained for you of a charge.
        ChargeMerchantEntitlement "charge_merchant_entitlement",
        /// Anything else, such as a refund, a fee or a dispute.
        Adjustment "adjustment",
    }
}
