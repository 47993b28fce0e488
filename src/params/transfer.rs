//! Parameters of transfers (specification, Transfers), in the order of its list.

use serde::Deserialize;
use utoipa::ToSchema;
use validator::Validate;

use crate::limits::TEXT_LENGTH_MAX;

/// A transfer to be made.
#[derive(Deserialize, Validate, ToSchema)]
pub struct NewTransfer {
    /// For your records; not shown on the recipient's statement.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(max_length = 1000, example = "Earnings for may")]
    pub description: String,
    /// In cents.
    #[validate(range(min = 0))]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64, example = 400)]
    pub amount: i64,
    /// AUD.
    #[schema(example = "AUD")]
    pub currency: String,
    /// A recipient token, or self for the account's own bank account.
    #[schema(example = "self")]
    pub recipient: String,
}
