//! The OpenAPI document: what the annotations say, finished by passes that no handler can forget.

mod examples;
mod webhooks;

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;
use utoipa::{IntoParams, ToSchema};

use self::examples::examples;
use super::answer::{ErrorBody, ErrorMessage};
use crate::error::ErrorCode;
use crate::params::card::NewCard;
use crate::params::payment_source::NewNetworkToken;
use crate::wallet::{WalletAToken, WalletGToken};

/// Which page of a list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only described here; extract::Input reads them")]
pub struct PageParameters {
    /// Page, from 1.
    #[param(minimum = 1, example = 1)]
    page: Option<u64>,
    /// Records a page.
    #[param(minimum = 1, maximum = 500, example = 25)]
    per_page: Option<u64>,
}

/// What to search for.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only described here; extract::Input reads them")]
pub struct SearchParameters {
    /// What to look for, in any letter case.
    #[param(max_length = 1000)]
    query: Option<String>,
    /// Only records from this day on, YYYY/MM/DD.
    start_date: Option<String>,
    /// Only records before this day, YYYY/MM/DD.
    end_date: Option<String>,
    /// 1 ascending (default), -1 descending.
    direction: Option<i32>,
}

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
    /// Whose it is.
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

/// Errors that any operation may answer with, whatever it does.
const EVERYWHERE: &[(&str, &str)] = &[
    ("400", "bad_request"),
    ("401", "unauthorized"),
    ("413", "payload_too_large"),
    ("415", "unsupported_media_type"),
    ("500", "internal_error"),
    ("503", "service_unavailable"),
    ("504", "gateway_timeout"),
];

const FORM: &str = "application/x-www-form-urlencoded";

/// The tags in the order of the specification's sections.
const TAGS: &[(&str, &str)] = &[
    ("Cards", "Stores card details in exchange for a single-use card token."),
    (
        "Payment sources",
        "Stores cards, network tokens and the encrypted payloads of mobile wallets in exchange for a single-use token.",
    ),
    (
        "Charges",
        "Creates charges, captured at once or authorised first, and lists, searches, captures and voids them.",
    ),
    ("Refunds", "Refunds charges, fully or partly."),
    (
        "Authorisations",
        "Reserves money on a card, and later captures it as a charge, wholly or in part, or voids it (beta).",
    ),
    ("Customers", "Stores customers with several cards, exactly one of which is primary."),
    ("Plans", "Describes what is billed, how much and how often, and subscribes customers to it."),
    ("Subscriptions", "Bills customers by a plan, interval by interval, until it ends or is cancelled."),
    ("Transfers", "Pays money out, to recipients and to your own bank account."),
    ("Bank accounts", "Stores bank account details in exchange for a single-use bank account token."),
    ("Recipients", "Stores whom transfers pay."),
    ("Deposits", "Money that arrived from outside."),
    ("Balance", "What the account owns."),
    (
        "Merchants",
        "Refers merchants, and shows their settings and keys; for the key of an account that manages an approved partner.",
    ),
    (
        "Mobile wallet support",
        "Registers domains, asks for sessions and keeps the certificates for which a wallet seals payments.",
    ),
    ("Disputes", "Shows disputes of charges and what happened to them, and answers them with evidence."),
    ("Files", "Keeps uploaded files, which serve as evidence."),
    ("Webhook endpoints", "Registers the URLs that are sent a web request for each event."),
    ("Webhooks", "The web requests sent to webhook endpoints."),
    ("Events", "What happened."),
    (
        "Sandbox",
        "What a test environment needs and a card network will not do for a tester; a live server has none of it.",
    ),
];

/// What the annotations say, with everything that holds for all operations.
pub fn finished(api: &OpenApi) -> Value {
    // Passes over JSON: one shape instead of utoipa's many. The document is the same at every start, so a test
    // sees what does not fit.
    let mut document = serde_json::to_value(api).expect("the document is JSON");
    head(&mut document);
    components(&mut document);
    let nested = nested_properties(&document);
    for (method, operation) in operations(&mut document) {
        if matches!(method.as_str(), "post" | "put" | "delete") {
            repeatable(operation);
        }
        errors(operation);
        nested_forms(operation, &nested);
        examples(operation);
        if method == "get" || method == "head" {
            operation.remove("requestBody");
        }
    }
    references(&mut document);
    head_operations(&mut document);
    document["webhooks"] = webhooks::section();
    document
}

/// The document as it is committed and served.
pub fn yaml(document: &Value) -> String {
    yaml_serde::to_string(document).expect("YAML can say all that JSON can")
}

fn head(document: &mut Value) {
    document["info"] = json!({
        "title": "Card payments",
        "version": "1",
        "description": DESCRIPTION,
        "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
    });
    document["servers"] = json!([{ "url": "/" }]);
    document["tags"] =
        TAGS.iter().map(|(name, description)| json!({ "name": name, "description": description })).collect();
    document["security"] = json!([{ "secret_key": [] }]);
}

const DESCRIPTION: &str = "\
Takes cards, wallets and network tokens, charges them at once or in two steps, refunds, bills subscriptions, pays out, \
handles disputes, and tells what happens by signed webhooks.

**Keys.** Requests carry the secret API key as the user name of HTTP basic authentication, with an empty password. \
Endpoints that store a card, a payment source or a bank account also take the parameter publishable_api_key instead, \
for use in a browser.

**Amounts** are integers in the currency's base unit: cents for AUD, yen for JPY.

**Parameters** are form fields, nested ones written name[key] and arrays name[], or JSON of the same shape.

**Errors** have a code in error, a sentence in error_description and, for faulty parameters, one item each in messages.

**Test cards.** 4200000000000000 is accepted, 4100000000000001 is declined, 4000000000000002 has insufficient funds.";

fn components(document: &mut Value) {
    for (name, schema) in [schema_of::<ErrorBody>(), schema_of::<ErrorMessage>()] {
        document["components"]["schemas"][name] = schema;
    }
    document["components"]["parameters"] = json!({
        "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "Makes the request repeatable: sent again with the same key within 24 hours, it has no second effect and gets the first answer. A cut connection, 500, 503 and 504 say nothing about the outcome: ask again with the same key.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
            "example": "order-1001",
        },
    });
    document["components"]["headers"] = json!({
        "IdempotentReplayed": {
            "description": "true where this is the answer to an earlier request with the same Idempotency-Key.",
            "schema": { "type": "string", "enum": ["true"] },
        },
    });
    document["components"]["securitySchemes"] = json!({
        "secret_key": { "type": "http", "scheme": "basic", "description": "The secret API key as the user name, an empty password." },
        "publishable_key": { "type": "apiKey", "in": "query", "name": "publishable_api_key", "description": "For browsers and mobile applications." },
    });
}

fn schema_of<T: ToSchema>() -> (String, Value) {
    (T::name().into_owned(), serde_json::to_value(T::schema()).unwrap_or_default())
}

fn operations(document: &mut Value) -> impl Iterator<Item = (String, &mut Map<String, Value>)> {
    let paths = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    paths
        .filter_map(Value::as_object_mut)
        .flat_map(|path| path.iter_mut())
        .filter_map(|(method, operation)| Some((method.clone(), operation.as_object_mut()?)))
}

/// Every error has its body, and the errors of everywhere stand at every operation.
fn errors(operation: &mut Map<String, Value>) {
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for (status, code) in EVERYWHERE {
        says(responses, status, code);
    }
    responses.sort_keys();
    for (status, response) in responses.iter_mut() {
        if status.as_str() >= "400" {
            let object = json!({ "$ref": "#/components/schemas/ErrorBody" });
            let is_array = |code: &&ErrorCode| code.body_is_array() && code.status().to_string() == *status;
            let schema = match ErrorCode::ALL.iter().find(is_array) {
                Some(_) => json!({ "type": "array", "items": object, "minItems": 1, "maxItems": 1 }),
                None => object,
            };
            response["content"] = json!({ "application/json": { "schema": schema } });
        }
    }
}

/// What changes something can be asked for once more without a second effect (decisions 2).
fn repeatable(operation: &mut Map<String, Value>) {
    let key = json!({ "$ref": "#/components/parameters/IdempotencyKey" });
    match operation.get_mut("parameters").and_then(Value::as_array_mut) {
        Some(parameters) => parameters.push(key),
        None => {
            operation.insert("parameters".into(), json!([key]));
        }
    }
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for (status, response) in responses.iter_mut() {
        if status.as_str() < "500" {
            response["headers"] =
                json!({ "Idempotent-Replayed": { "$ref": "#/components/headers/IdempotentReplayed" } });
        }
    }
    // In live, of a merchant that is not active (decisions 10).
    says(responses, "400", "api_unavailable");
    says(responses, "422", "idempotency_key_reused");
    says(responses, "409", "idempotency_key_in_use");
}

/// Names one more code at a status, once.
fn says(responses: &mut Map<String, Value>, status: &str, code: &str) {
    let response = responses.entry(status).or_insert_with(|| json!({ "description": "" }));
    let said = response["description"].as_str().unwrap_or_default();
    if said.split([',', ':', ' ']).any(|word| word == code) {
        return;
    }
    response["description"] = if said.is_empty() { code.into() } else { format!("{said}, {code}").into() };
}

/// The objects among the properties of each schema.
fn nested_properties(document: &Value) -> HashMap<String, Vec<String>> {
    let is_object = |schema: &Value| {
        let text = schema.to_string();
        text.contains("\"$ref\"") || text.contains("\"object\"")
    };
    let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
    schemas
        .map(|(name, schema)| {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let nested = properties.filter(|(_, schema)| is_object(schema)).map(|(name, _)| name.clone());
            (format!("#/components/schemas/{name}"), nested.collect())
        })
        .collect()
}

/// Nested form fields are written name[key], which the document calls deepObject.
fn nested_forms(operation: &mut Map<String, Value>, nested: &HashMap<String, Vec<String>>) {
    let form = operation.get_mut("requestBody").and_then(|body| body["content"].get_mut(FORM));
    let Some(form) = form else { return };
    let names =
        form.pointer("/schema/$ref").and_then(Value::as_str).and_then(|reference| nested.get(reference));
    let style = json!({ "style": "deepObject", "explode": true });
    let encoding: Map<_, _> = names.into_iter().flatten().map(|name| (name.clone(), style.clone())).collect();
    if !encoding.is_empty() {
        form["encoding"] = encoding.into();
    }
}

/// utoipa writes the arguments of a generic in line. Where such an object equals a named schema, name it.
fn references(document: &mut Value) {
    let named: Vec<(String, Value)> = document["components"]["schemas"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, schema)| schema.get("properties").is_some())
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect();
    if let Some(paths) = document.get_mut("paths") {
        name_known(paths, &named);
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        for schema in schemas.values_mut() {
            for inner in schema.as_object_mut().into_iter().flat_map(|schema| schema.values_mut()) {
                name_known(inner, &named);
            }
        }
    }
}

fn name_known(value: &mut Value, named: &[(String, Value)]) {
    if let Some((name, _)) = named.iter().find(|(_, schema)| schema == value) {
        *value = json!({ "$ref": format!("#/components/schemas/{name}") });
        return;
    }
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|field| name_known(field, named)),
        Value::Array(items) => items.iter_mut().for_each(|item| name_known(item, named)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// HEAD is allowed wherever GET is (decisions 1): the same answers without their bodies.
fn head_operations(document: &mut Value) {
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for path in paths.values_mut().filter_map(Value::as_object_mut) {
        let Some(mut head) = path.get("get").cloned() else { continue };
        let id = head["operationId"].as_str().unwrap_or_default().to_owned();
        head["operationId"] = format!("head_{}", id.trim_start_matches("get_")).into();
        head["summary"] =
            format!("{} (headers only)", head["summary"].as_str().unwrap_or_default().trim_end_matches('.'))
                .into();
        for response in
            head["responses"].as_object_mut().into_iter().flat_map(|responses| responses.values_mut())
        {
            if let Some(response) = response.as_object_mut() {
                response.remove("content");
            }
        }
        path.insert("head".into(), head);
    }
}
