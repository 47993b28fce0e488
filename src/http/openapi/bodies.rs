//! Schemas of request bodies that no single struct decodes: their endpoints read them in parts.

use serde::Deserialize;
use utoipa::ToSchema;

use crate::params::card::NewCard;
use crate::params::payment_source::NewNetworkToken;
use crate::wallet::{WalletAToken, WalletGToken};

/// A card, from a server or a browser.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described here; the endpoint reads its parts")]
pub struct BrowserCard {
    /// Instead of basic authentication, from an insecure environment.
    publishable_api_key: Option<String>,
    /// Card number.
    #[schema(example = "4200000000000000")]
    number: String,
    /// Month of expiry.
    #[schema(minimum = 1, maximum = 12, example = 5)]
    expiry_month: i64,
    /// Year of expiry; two digits are 20xx.
    #[schema(minimum = 0, maximum = 9999, example = 2030)]
    expiry_year: i64,
    /// Card verification code: three digits, four for american_express.
    #[schema(example = "123")]
    cvc: String,
    /// Cardholder.
    #[schema(max_length = 255, example = "Roland Robot")]
    name: String,
    /// First address line.
    #[schema(max_length = 1000, example = "42 Sevenoaks St")]
    address_line1: String,
    /// City.
    #[schema(max_length = 1000, example = "Lathlain")]
    address_city: String,
    /// Full country name or ISO 3166-1 two-letter code.
    #[schema(max_length = 1000, example = "Australia")]
    address_country: String,
    /// Second address line.
    #[schema(max_length = 1000)]
    address_line2: Option<String>,
    /// Postcode.
    #[schema(max_length = 1000, example = "6454")]
    address_postcode: Option<String>,
    /// State.
    #[schema(max_length = 1000, example = "WA")]
    address_state: Option<String>,
}

/// A payment source, from a server or a browser.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described here; the endpoint reads its parts")]
pub struct BrowserPaymentSource {
    /// Instead of basic authentication, from an insecure environment.
    publishable_api_key: Option<String>,
    /// `card`, `walletApay`, `walletGpay` or `network_token`.
    #[schema(example = "card")]
    r#type: String,
    /// Its shape depends on the type.
    source: PaymentSourceSource,
}

/// What a payment source is made of.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub enum PaymentSourceSource {
    /// card
    Card(NewCard),
    /// walletApay
    WalletA(WalletAToken),
    /// walletGpay
    WalletG(WalletGToken),
    /// network_token
    NetworkToken(NewNetworkToken),
}

/// A bank account, from a server or a browser.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described here; the endpoint reads its parts")]
pub struct BrowserBankAccount {
    /// Instead of basic authentication, from an insecure environment.
    publishable_api_key: Option<String>,
    /// The name of the account holder.
    #[schema(max_length = 255, example = "Mr Roland Robot")]
    name: String,
    /// The branch: six digits, with or without a hyphen after three.
    #[schema(example = "806015")]
    bsb: String,
    /// Account number: 1 to 12 digits.
    #[schema(example = "987654321")]
    number: String,
}

/// A card for a customer: an unused card token, or the parameters of a card.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described here; the endpoint reads its parts")]
pub struct AddedCard {
    /// Instead of basic authentication, from an insecure environment.
    publishable_api_key: Option<String>,
    /// An unused card token; the other parameters are for a card without one.
    card_token: Option<String>,
    /// Card number.
    #[schema(example = "4200000000000000")]
    number: Option<String>,
    /// Month of expiry.
    #[schema(minimum = 1, maximum = 12, example = 5)]
    expiry_month: Option<i64>,
    /// Year of expiry; two digits are 20xx.
    #[schema(minimum = 0, maximum = 9999, example = 2030)]
    expiry_year: Option<i64>,
    /// Card verification code: three digits, four for american_express.
    #[schema(example = "123")]
    cvc: Option<String>,
    /// Cardholder.
    #[schema(max_length = 255, example = "Roland Robot")]
    name: Option<String>,
    /// First address line.
    #[schema(max_length = 1000, example = "42 Sevenoaks St")]
    address_line1: Option<String>,
    /// City.
    #[schema(max_length = 1000, example = "Lathlain")]
    address_city: Option<String>,
    /// Full country name or ISO 3166-1 two-letter code.
    #[schema(max_length = 1000, example = "Australia")]
    address_country: Option<String>,
    /// Second address line.
    #[schema(max_length = 1000)]
    address_line2: Option<String>,
    /// Postcode.
    #[schema(max_length = 1000, example = "6454")]
    address_postcode: Option<String>,
    /// State.
    #[schema(max_length = 1000, example = "WA")]
    address_state: Option<String>,
}
