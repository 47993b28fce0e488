//! Recipients of transfers (specification, Recipient).

use crate::{AccountToken, BankAccountToken, JsonText, RecipientToken, Timestamp};

table! {
    /// One recipient.
    "recipients" [account_id: AccountToken, id: RecipientToken] {
        name: Option<String>,
        /// Need not be unique.
        email: String,
        bank_account_id: BankAccountToken,
        /// The bank account as the API shows it.
        bank_account: JsonText,
        /// The folded name and address, which searches of transfers read.
        search_text: String,
        created_at: Timestamp,
    }
}
