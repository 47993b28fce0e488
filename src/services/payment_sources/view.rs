//! Payment source (specification, Payment source).

use entity::PaymentSourceToken;
use entity::card::{self, SourceType};
use macros::view;

use crate::services::cards::view::Card;

/// A stored way to pay: a card, a network token, or a payment token of a wallet.
#[view]
pub struct PaymentSource {
    /// The payment source's token, `ps_...`.
    token: PaymentSourceToken,
    /// What the payment source was made of.
    r#type: SourceType,
    /// The card that is charged.
    source: Card,
}

impl PaymentSource {
    /// Returns the payment source of a card, if the card has one: they share id and single use.
    pub fn new(row: card::Model) -> Option<Self> {
        let token = PaymentSourceToken::new(row.id.id());
        Some(Self { token, r#type: row.source?, source: Card::new(row, None) })
    }
}
