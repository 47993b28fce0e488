//! Bank account (specification, Transfer: "Bank account as embedded").

use entity::{BankAccountToken, bank_account};
use macros::view;
use serde::Deserialize;

/// A bank account with a masked number.
#[view(of(bank_account::Model))]
#[derive(Deserialize)]
pub struct BankAccount {
    /// `ba_...`
    token: BankAccountToken,
    /// The name of the account holder.
    #[schema(example = "Mr Roland Robot")]
    name: String,
    /// The BSB of the branch, six digits.
    #[schema(example = "806015")]
    bsb: String,
    /// The masked number: only the last three digits show.
    #[schema(example = "XXXXXX321")]
    number: String,
    /// The bank; empty if the branch is unknown.
    #[schema(example = "Cuscal Limited")]
    bank_name: String,
    /// The branch; empty if it is unknown.
    #[schema(example = "Perth")]
    branch: String,
}
