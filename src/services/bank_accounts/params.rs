//! Parameters of bank accounts (specification, Recipients), in the order of their list.

use base::secret::Secret;
use macros::params;

use crate::limits::NAME_LENGTH_MAX;
use crate::params::rules;

/// A bank account as its owner gives it.
#[params]
pub struct NewBankAccount {
    /// Whose it is.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Mr Roland Robot")]
    pub name: String,
    /// The branch: six digits, with or without a hyphen after three.
    #[validate(custom(function = "rules::bsb"))]
    #[schema(example = "806015")]
    pub bsb: String,
    /// Account number: 1 to 12 digits.
    #[schema(example = "987654321")]
    pub number: Secret,
}
