//! Recipient (specification, Recipient).

use entity::{JsonText, RecipientToken, Timestamp, recipient};
use macros::view;

use crate::services::bank_accounts::view::BankAccount;

/// Somebody to whom money is transferred.
#[view(of(recipient::Model))]
pub struct Recipient {
    /// The recipient's token, `rp_...`.
    token: RecipientToken,
    /// The name of the recipient; null if none was sent.
    #[schema(example = "Mr Roland Robot")]
    name: Option<String>,
    /// The e-mail address of the recipient.
    #[schema(example = "roland@example.com")]
    email: String,
    /// The time of the recipient's creation.
    created_at: Timestamp,
    /// The bank account that gets the transfers.
    #[schema(value_type = BankAccount)]
    bank_account: JsonText,
}
