//! Stored cards, and the payment sources around them (specification, Card and Payment source; decisions 4).

use sea_orm::entity::prelude::*;
use uuid::Uuid;

use crate::{AccountToken, CardToken, CustomerToken, Scheme, Timestamp};

/// One card. What it pays by is ciphertext, and only there while a use still lies ahead. A card of a payment source is the
/// payment source: one row with one id, so that one use spends both tokens.
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "cards")]
pub struct Model {
    /// Whose row it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub account_id: AccountToken,
    /// The card's token.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: CardToken,
    /// Where its token stands.
    pub state: CardState,
    /// The card scheme.
    pub scheme: Scheme,
    /// Masked: only the last four digits are shown.
    pub display_number: String,
    /// Two letters.
    pub issuing_country: String,
    /// 1 to 12.
    pub expiry_month: i32,
    /// Four digits.
    pub expiry_year: i32,
    /// The cardholder; null for cards that came from a wallet.
    pub name: Option<String>,
    /// First address line.
    pub address_line1: Option<String>,
    /// Second address line.
    pub address_line2: Option<String>,
    /// City.
    pub address_city: Option<String>,
    /// Postcode.
    pub address_postcode: Option<String>,
    /// State.
    pub address_state: Option<String>,
    /// Country, echoed as it was sent.
    pub address_country: Option<String>,
    /// The type of the payment source that the card is part of, where it is.
    pub source: Option<SourceType>,
    /// The wallet, or the network as it was sent; null for ordinary cards.
    pub network_type: Option<String>,
    /// How the network was convinced; null for ordinary cards.
    pub network_format: Option<String>,
    /// The customer the card is attached to.
    pub customer_id: Option<CustomerToken>,
    /// The number, encrypted; null once it is erased.
    pub number_sealed: Option<Vec<u8>>,
    /// The cvc, encrypted; null once it is erased.
    pub cvc_sealed: Option<Vec<u8>>,
    /// What a wallet or a network token proves instead of a cvc, encrypted; null once it is erased.
    pub network_sealed: Option<Vec<u8>>,
    /// The data key that encrypts all of them.
    pub sealed_by: Option<Uuid>,
    /// When an unused token expires, by the account's clock; null once it is used.
    pub expires_at: Option<Timestamp>,
    /// By the account's clock.
    pub created_at: Timestamp,
}

string_enum! {
    /// Where a card token stands (decisions 4: reserved in the intent, consumed by the acquirer's answer).
    pub enum CardState {
        /// May be used once, until it expires.
        Unused "unused",
        /// An attempt that the acquirer has not answered yet holds it.
        Reserved "reserved",
        /// Spent on a charge.
        Used "used",
        /// Belongs to a customer and may be charged again and again.
        Attached "attached",
    }
}

string_enum! {
    /// What a payment source is made of (specification, Payment source).
    pub enum SourceType {
        /// The parameters of a card.
        Card "card",
        /// A payload of walletA.
        WalletA "walletApay",
        /// A payload of walletG.
        WalletG "walletGpay",
        /// A number of a card network's own, with its proof.
        NetworkToken "network_token",
    }
}

/// None.
#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
