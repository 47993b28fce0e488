//! Card (specification, Card).

use entity::{CardToken, CustomerToken, Scheme, card};
use macros::view;
use serde::Deserialize;

/// A stored card, masked.
#[view]
#[derive(Deserialize)]
pub struct Card {
    /// `card_...`
    token: CardToken,
    /// Card scheme.
    #[schema(value_type = String, example = "visa")]
    scheme: Scheme,
    /// The masked number: only the last group of four digits shows.
    #[schema(example = "XXXX-XXXX-XXXX-0000")]
    display_number: String,
    /// The issuing country, an ISO 3166-1 code of two letters.
    #[schema(example = "AU")]
    issuing_country: String,
    /// Month of expiry.
    #[schema(minimum = 1, maximum = 12, example = 5)]
    expiry_month: i32,
    /// Year of expiry.
    #[schema(example = 2030)]
    expiry_year: i32,
    /// Cardholder; null for wallet cards.
    #[schema(example = "Roland Robot")]
    name: Option<String>,
    /// First address line.
    #[schema(example = "42 Sevenoaks St")]
    address_line1: Option<String>,
    /// Second address line.
    #[schema(example = "")]
    address_line2: Option<String>,
    /// City.
    #[schema(example = "Lathlain")]
    address_city: Option<String>,
    /// Postcode.
    #[schema(example = "6454")]
    address_postcode: Option<String>,
    /// State.
    #[schema(example = "WA")]
    address_state: Option<String>,
    /// The country, as sent.
    #[schema(example = "Australia")]
    address_country: Option<String>,
    /// The wallet of a wallet card, the network of a network token; null for ordinary cards.
    network_type: Option<String>,
    /// `cryptogram_3ds` for wallet cards and network tokens.
    network_format: Option<String>,
    /// The customer that owns the card.
    customer_token: Option<CustomerToken>,
    /// Whether it is the customer's primary card; null without a customer.
    primary: Option<bool>,
}

impl Card {
    /// Returns a card; `primary` is its customer's primary card.
    pub fn new(row: card::Model, primary: Option<CardToken>) -> Self {
        Self {
            primary: row.customer_id.map(|_| primary == Some(row.id)),
            token: row.id,
            scheme: row.scheme,
            display_number: row.display_number,
            issuing_country: row.issuing_country,
            expiry_month: row.expiry_month,
            expiry_year: row.expiry_year,
            name: row.name,
            address_line1: row.address_line1,
            address_line2: row.address_line2,
            address_city: row.address_city,
            address_postcode: row.address_postcode,
            address_state: row.address_state,
            address_country: row.address_country,
            network_type: row.network_type,
            network_format: row.network_format,
            customer_token: row.customer_id,
        }
    }
}
