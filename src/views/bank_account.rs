//! Bank account (specification, Transfer: "Bank account as embedded").

use entity::{BankAccountToken, bank_account};
use macros::view;

/// A bank account, its number masked.
#[view]
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

impl From<bank_account::Model> for BankAccount {
    fn from(row: bank_account::Model) -> Self {
        Self {
            token: row.id,
            name: row.name,
            bsb: row.bsb,
            number: row.number,
            bank_name: row.bank_name,
            branch: row.branch,
        }
    }
}
