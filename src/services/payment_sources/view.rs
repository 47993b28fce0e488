//! Payment source (specification, Payment source).

use entity::PaymentSourceToken;
use entity::card::{self, SourceType};
use macros::view;

use crate::services::cards::view::Card;

/// A stored payment source.
#[view]
pub struct PaymentSource {
    /// `ps_...`
    token: PaymentSourceToken,
    /// `card`, `walletApay`, `walletGpay` or `network_token`.
    #[schema(value_type = String, example = "card")]
    r#type: SourceType,
    /// The card inside.
    source: Card,
}

impl PaymentSource {
    /// Returns the payment source of a card, if the card has one: they share id and single use.
    pub fn new(row: card::Model) -> Option<Self> {
        let token = PaymentSourceToken::new(row.id.id());
        Some(Self { token, r#type: row.source?, source: Card::new(row, None) })
    }
}
