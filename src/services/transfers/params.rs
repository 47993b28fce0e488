//! Parameters of transfers (specification, Transfers), in the order of its list.

use macros::params;

use crate::limits::TEXT_LENGTH_MAX;

/// A transfer to be made.
#[params]
pub struct NewTransfer {
    /// For your records; not shown on the recipient's statement.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "Earnings for may")]
    pub description: String,
    /// In cents.
    #[validate(range(min = 0))]
    #[schema(example = 400)]
    pub amount: i64,
    /// AUD.
    #[schema(example = "AUD")]
    pub currency: String,
    /// A recipient token, or self for the account's own bank account.
    #[schema(example = "self")]
    pub recipient: String,
}
