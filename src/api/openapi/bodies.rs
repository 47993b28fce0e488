//! Schemas of request bodies that no single struct decodes: their endpoints read them in parts.

use entity::card::SourceType;
use serde::Deserialize;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::services::bank_accounts::params::NewBankAccount;
use crate::services::cards::params::NewCard;
use crate::services::payment_sources::params::NewNetworkToken;
use crate::wallet::{WalletAToken, WalletGToken};

macro_rules! bodies {
    ($(#[doc = $doc:literal] $name:ident = $schema:expr;)*) => {$(
        #[doc = $doc]
        pub struct $name;

        impl ToSchema for $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let mut schema: Object = $schema;
                schema.description = Some($doc.trim().to_owned());
                schema.into()
            }
        }
    )*};
}

bodies! {
    /// A card that a server or a browser stores.
    BrowserCard = with_key::<NewCard>();
    /// A bank account that a server or a browser stores.
    BrowserBankAccount = with_key::<NewBankAccount>();
    /// A card for a customer: an unused card token, or the parameters of a card.
    AddedCard = card_or_token();
}

/// Returns the schema of a body that may also hold the publishable key.
fn with_key<Fields: PartialSchema>() -> Object {
    let RefOr::T(Schema::Object(mut schema)) = Fields::schema() else { unreachable!("fields are an object") };
    let key = optional_text(
        "The publishable API key, from a browser or a mobile application; if it is absent, a secret key must be sent by basic authentication.",
    );
    schema.properties.shift_insert(0, "publishable_api_key".into(), key);
    schema
}

fn card_or_token() -> Object {
    let mut schema = with_key::<NewCard>();
    schema.required.clear();
    let token = optional_text(
        "The token of an unused card, `card_...`; if it is absent, the card's parameters are required.",
    );
    schema.properties.shift_insert(1, "card_token".into(), token);
    schema
}

fn optional_text(description: &str) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description)).into()
}

/// A payment source that a server or a browser stores.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described here; the endpoint reads its parts")]
pub struct BrowserPaymentSource {
    /// The publishable API key, from a browser or a mobile application; if it is absent, a secret key must be sent by basic
    /// authentication.
    #[schema(nullable = false)]
    publishable_api_key: Option<String>,
    /// What the payment source is made of.
    r#type: SourceType,
    /// The card, network token or payment token, as the type says.
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
