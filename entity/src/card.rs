//! Stored cards and payment sources (specification, Card and Payment source).

use uuid::Uuid;

use crate::{AccountToken, Bytes, CardToken, CustomerToken, Scheme, Timestamp};

table! {
    /// One card. Its credentials are encrypted, and erased after the last use. A card of a payment source is the payment
    /// source: one row with one id, so that one use spends both tokens.
    "cards" [account_id: AccountToken, id: CardToken] {
        state: CardState,
        scheme: Scheme,
        /// Masked but for the last four digits.
        display_number: String,
        /// Two letters.
        issuing_country: String,
        /// 1 to 12.
        expiry_month: i32,
        /// Four digits.
        expiry_year: i32,
        /// The cardholder; null for cards that came from a wallet.
        name: Option<String>,
        address_line1: Option<String>,
        address_line2: Option<String>,
        address_city: Option<String>,
        address_postcode: Option<String>,
        address_state: Option<String>,
        /// As sent.
        address_country: Option<String>,
        /// The type of the payment source; null for a plain card.
        source: Option<SourceType>,
        /// The wallet, or the network as it was sent; null for ordinary cards.
        network_type: Option<String>,
        /// The format of the network's proof; null for ordinary cards.
        network_format: Option<String>,
        customer_id: Option<CustomerToken>,
        /// Null once it is erased.
        number_sealed: Option<Bytes>,
        /// Null once it is erased.
        cvc_sealed: Option<Bytes>,
        /// The proof of a wallet or a network token, in place of a cvc; null once it is erased.
        network_sealed: Option<Bytes>,
        sealed_by: Option<Uuid>,
        /// The expiry of an unused token; null once it is used.
        expires_at: Option<Timestamp>,
        created_at: Timestamp,
    }
}

string_enum! {
    /// The state of a card's token (`docs/decisions.md`, 102).
    pub enum CardState {
        /// May be used once, until it expires.
        Unused "unused",
        /// Reserved by an attempt that the acquirer has not answered yet.
        Reserved "reserved",
        /// Spent on a charge.
        Used "used",
        /// Belongs to a customer, and may be charged any number of times.
        Attached "attached",
    }
}

string_enum! {
    /// The type of a payment source.
    pub closed enum SourceType {
        /// The parameters of a card.
        Card "card",
        /// A payment token of walletA.
        WalletA "walletApay",
        /// A payment token of walletG.
        WalletG "walletGpay",
        /// A number that a card network has issued in place of a card's, with its proof.
        NetworkToken "network_token",
    }
}
