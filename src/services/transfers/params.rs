//! Parameters of transfers (specification, Transfers), in the order of its list.

use macros::params;

use crate::limits::TEXT_LENGTH_MAX;

/// A transfer to create.
#[params]
pub struct NewTransfer {
    /// A description for your own records, which the recipient's statement does not show.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "Earnings for may")]
    pub description: String,
    /// The amount in cents.
    #[validate(range(min = 0))]
    #[schema(example = 400)]
    pub amount: i64,
    /// The currency of the amount: always `AUD`.
    #[schema(pattern = "^ *[Aa][Uu][Dd] *$", example = "AUD")]
    pub currency: String,
    /// The token of the recipient, `rp_...`, or `self` for your own bank account.
    #[schema(pattern = "^(self|rp_[A-Za-z0-9_-]{22})$", example = "self")]
    pub recipient: String,
}
