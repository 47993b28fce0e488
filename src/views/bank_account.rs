//! Bank account (specification, Transfer: "Bank account as embedded").

use entity::{BankAccountToken, bank_account};
use serde::Serialize;
use utoipa::ToSchema;

/// A bank account with a masked number.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BankAccount {
    /// `ba_...`
    #[schema(value_type = String, example = "ba_AZqYv3rVcBKUQ1mHn7tKRw")]
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
