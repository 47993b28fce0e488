//! Schemas of request bodies that no single struct decodes: their endpoints read them in parts.

use entity::card::SourceType;
use serde_json::Map;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use wallet::{WalletAToken, WalletGToken};

use crate::services::bank_accounts::params::NewBankAccount;
use crate::services::cards::params::NewCard;
use crate::services::cards::params::NewNetworkToken;

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
    let token = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^card_[A-Za-z0-9_-]{22}$"));
    let token = token.description(Some(
        "The token of an unused card, `card_...`; if it is absent, the card's parameters are required.",
    ));
    schema.properties.shift_insert(1, "card_token".into(), token.into());
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

/// Says what a payment source is made of: the fields of its type. One object, because not every language can write one of several.
pub struct PaymentSourceSource;

impl ToSchema for PaymentSourceSource {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        NewCard::schemas(schemas);
        NewNetworkToken::schemas(schemas);
        WalletAToken::schemas(schemas);
        WalletGToken::schemas(schemas);
    }
}

impl PartialSchema for PaymentSourceSource {
    fn schema() -> RefOr<Schema> {
        let types = [
            (SourceType::Card, NewCard::schema()),
            (SourceType::NetworkToken, NewNetworkToken::schema()),
            (SourceType::WalletA, WalletAToken::schema()),
            (SourceType::WalletG, WalletGToken::schema()),
        ];
        let (mut merged, mut needs, mut required) = (ObjectBuilder::new().build(), Vec::new(), Map::new());
        for (kind, fields) in types {
            let RefOr::T(Schema::Object(fields)) = fields else { unreachable!("fields are an object") };
            needs.push(format!("`{}` needs {}", kind.code(), fields.required.join(", ")));
            required.insert(kind.code().to_owned(), fields.required.into());
            for (name, field) in fields.properties {
                merged.properties.entry(name).or_insert(field);
            }
        }
        merged.description = Some(format!("The fields of its type: {}.", needs.join("; ")));
        // The Swagger page offers the types by it.
        merged.extensions = Some(ExtensionsBuilder::new().add("x-types", required).build());
        merged.into()
    }
}
