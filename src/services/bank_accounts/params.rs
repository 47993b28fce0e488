//! Parameters of bank accounts (specification, Recipients), in the order of their list.

use base::secret::Secret;
use macros::params;

use crate::limits::NAME_LENGTH_MAX;
use crate::params::rules;

/// A bank account, as its owner writes it.
#[params]
pub struct NewBankAccount {
    /// The name of the account holder.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Mr Roland Robot")]
    pub name: String,
    /// The BSB: the six digits of the branch, with or without a hyphen after three.
    #[validate(custom(function = "rules::bsb"))]
    #[schema(pattern = "^ *[0-9]{3}-?[0-9]{3} *$", example = "806015")]
    pub bsb: String,
    /// The account number: 1 to 12 digits.
    #[schema(pattern = "^ *[0-9]{1,12} *$", example = "987654321")]
    pub number: Secret,
}
