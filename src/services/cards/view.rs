//! Card (specification, Card).

use entity::{CardToken, CustomerToken, Scheme, card};
use macros::view;
use serde::Deserialize;

/// A stored card, with a masked number.
#[view]
#[derive(Deserialize)]
pub struct Card {
    /// The card's token, `card_...`.
    token: CardToken,
    /// The network of the card.
    scheme: Scheme,
    /// The masked number: only the last group of four digits shows.
    #[schema(example = "XXXX-XXXX-XXXX-0000")]
    display_number: String,
    /// The issuing country, an ISO 3166-1 code of two letters.
    #[schema(example = "AU")]
    issuing_country: String,
    /// The month in which the card expires.
    #[schema(minimum = 1, maximum = 12, example = 5)]
    expiry_month: i32,
    /// The year in which the card expires.
    #[schema(example = 2030)]
    expiry_year: i32,
    /// The name of the cardholder; null for cards of wallets.
    #[schema(example = "Roland Robot")]
    name: Option<String>,
    /// The first line of the cardholder's address; null for cards of wallets.
    #[schema(example = "42 Sevenoaks St")]
    address_line1: Option<String>,
    /// The second line of the address; null or empty if there is none.
    #[schema(example = "")]
    address_line2: Option<String>,
    /// The city of the address; null for cards of wallets.
    #[schema(example = "Lathlain")]
    address_city: Option<String>,
    /// The postcode of the address; null if none was sent.
    #[schema(example = "6454")]
    address_postcode: Option<String>,
    /// The state of the address; null if none was sent.
    #[schema(example = "WA")]
    address_state: Option<String>,
    /// The country of the address, as it was sent; null for cards of wallets.
    #[schema(example = "Australia")]
    address_country: Option<String>,
    /// The wallet that the card comes from, or the network of a network token; null for ordinary cards.
    network_type: Option<String>,
    /// `cryptogram_3ds` for cards of wallets and network tokens; null for ordinary cards.
    network_format: Option<String>,
    /// The token of the customer that owns the card, `cus_...`; null if none does.
    customer_token: Option<CustomerToken>,
    /// Whether the card is its customer's primary card; null without a customer.
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
