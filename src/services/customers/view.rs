//! Customer (specification, Customer).

use entity::{CustomerToken, Timestamp, card, customer};
use macros::view;

use crate::services::cards::view::Card;

/// A stored customer with its primary card.
#[view]
pub struct Customer {
    /// `cus_...`
    token: CustomerToken,
    /// E-mail address.
    #[schema(example = "roland@example.com")]
    email: String,
    /// Given name.
    #[schema(example = "Roland")]
    first_name: Option<String>,
    /// Family name.
    #[schema(example = "Robot")]
    last_name: Option<String>,
    /// Telephone number.
    #[schema(example = "1300 364 800")]
    phone_number: Option<String>,
    /// Company.
    company: Option<String>,
    /// Free text.
    notes: Option<String>,
    /// Creation time.
    created_at: Timestamp,
    /// The primary card.
    card: Card,
}

impl Customer {
    /// Returns a customer with its primary card.
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
