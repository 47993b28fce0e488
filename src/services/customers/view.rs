//! Customer (specification, Customer).

use entity::{CustomerToken, Timestamp, card, customer};
use macros::view;

use crate::services::cards::view::Card;

/// Somebody whose cards can be charged again and again.
#[view]
pub struct Customer {
    /// The customer's token, `cus_...`.
    token: CustomerToken,
    /// The e-mail address.
    #[schema(example = "roland@example.com")]
    email: String,
    /// The given name; null if none was sent.
    #[schema(example = "Roland")]
    first_name: Option<String>,
    /// The family name; null if none was sent.
    #[schema(example = "Robot")]
    last_name: Option<String>,
    /// The telephone number; null if none was sent.
    #[schema(example = "1300 364 800")]
    phone_number: Option<String>,
    /// The company; null if none was sent.
    company: Option<String>,
    /// Your own notes; null if none were sent.
    notes: Option<String>,
    /// The time of the customer's creation.
    created_at: Timestamp,
    /// The primary card, which pays unless another one is named.
    card: Card,
}

impl Customer {
    pub fn new(row: customer::Model, primary: card::Model) -> Self {
        Self {
            card: Card::new(primary, Some(row.primary_card_id)),
            token: row.id,
            email: row.email,
            first_name: row.first_name,
            last_name: row.last_name,
            phone_number: row.phone_number,
            company: row.company,
            notes: row.notes,
            created_at: row.created_at,
        }
    }
}
