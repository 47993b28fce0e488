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
        /// The number of its lines.
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
    pub enum TransferStatus {
        /// Paid.
        Succeeded "succeeded",
        /// The bank sent it back.
        Failed "failed",
    }
}
