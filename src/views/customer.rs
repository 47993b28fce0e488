//! Customer (specification, Customer).

use entity::{CustomerToken, Timestamp, card, customer};
use serde::Serialize;
use utoipa::ToSchema;

use super::card::Card;

/// A stored customer with its primary card.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Customer {
    /// `cus_...`
    #[schema(value_type = String, example = "cus_AZqYv3rVcBKUQ1mHn7tKRw")]
    token: CustomerToken,
    /// E-mail address.
    #[schema(example = "roland@example.com")]
    email: String,
    /// Given name.
    #[schema(required, example = "Roland")]
    first_name: Option<String>,
    /// Family name.
    #[schema(required, example = "Robot")]
    last_name: Option<String>,
    /// Telephone number.
    #[schema(required, example = "1300 364 800")]
    phone_number: Option<String>,
    /// Company.
    #[schema(required)]
    company: Option<String>,
    /// Free text.
    #[schema(required)]
    notes: Option<String>,
    /// Creation time.
    #[schema(value_type = String, format = DateTime)]
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
