//! Stored bank accounts (specification, Transfer; `docs/decisions.md`, 201).

use uuid::Uuid;

use crate::{AccountToken, BankAccountToken, Bytes, Timestamp};

table! {
    /// One bank account. It never changes; a replaced one is deleted.
    "bank_accounts" [account_id: AccountToken, id: BankAccountToken] {
        state: BankAccountState,
        /// The holder.
        name: String,
        /// The branch's number, six digits.
        bsb: String,
        /// Masked but for the last three digits.
        number: String,
        /// Empty if the branch is not known.
        bank_name: String,
        /// Empty if the branch is not known.
        branch: String,
        number_sealed: Bytes,
        sealed_by: Uuid,
        /// The expiry of an unused token; null once it is used.
        expires_at: Option<Timestamp>,
        created_at: Timestamp,
    }
}

string_enum! {
    /// The state of a bank account's token.
    pub enum BankAccountState {
        /// May be used for a recipient once, until it expires.
        Unused "unused",
        /// Belongs to a recipient, or is the account's own.
        Attached "attached",
    }
}
