//! Values that appear in no log and no error: secrets and card numbers.

pub mod card_number;
pub mod secret;
pub mod shares;
