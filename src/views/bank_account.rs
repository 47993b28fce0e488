//! Bank account (specification, Transfer: "Bank account as embedded").

use entity::{BankAccountToken, bank_account};
use macros::view;

/// A bank account, its number masked.
#[view(of(bank_account::Model))]
pub struct BankAccount {
    /// `ba_...`
    token: BankAccountToken,
    /// Whose it is.
    #[schema(example = "Mr Roland Robot")]
    name: String,
    /// The branch, six digits.
    #[schema(example = "806015")]
    bsb: String,
    /// Only the last three digits are shown.
    #[schema(example = "XXXXXX321")]
    number: String,
    /// Empty where the branch is not known.
    #[schema(example = "Cuscal Limited")]
    bank_name: String,
    /// Empty where the branch is not known.
    #[schema(example = "Perth")]
    branch: String,
}
