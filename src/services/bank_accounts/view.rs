//! Bank account (specification, Transfer: "Bank account as embedded").

use entity::{BankAccountToken, bank_account};
use macros::view;
use serde::Deserialize;

/// A bank account with a masked number.
#[view(of(bank_account::Model))]
#[derive(Deserialize)]
pub struct BankAccount {
    /// The bank account's token, `ba_...`.
    token: BankAccountToken,
    /// The name of the account holder.
    #[schema(example = "Mr Roland Robot")]
    name: String,
    /// The BSB, the six digits of the branch.
    #[schema(example = "806015")]
    bsb: String,
    /// The masked account number: only the last three digits show.
    #[schema(example = "XXXXXX321")]
    number: String,
    /// The name of the bank; empty if the branch is unknown.
    #[schema(example = "Cuscal Limited")]
    bank_name: String,
    /// The name of the branch; empty if it is unknown.
    #[schema(example = "Perth")]
    branch: String,
}
