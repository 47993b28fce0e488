//! The OpenAPI document: the handlers' annotations, completed by passes that no handler can forget.

mod answers;
mod bodies;
mod columns;
mod examples;
mod forms;
mod headers;
mod links;
pub mod llms;
mod names;
mod parameters;
pub mod postman;
mod refusals;
mod webhooks;
mod yaml;

use std::collections::{BTreeSet, HashMap};

use entity::section::Section;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::OpenApi;

pub use bodies::{AddedCard, BrowserBankAccount, BrowserCard, BrowserPaymentSource, PaymentSourceSource};
pub use columns::{Columns, columns};
pub use parameters::{PageParameters, SearchParameters};
pub use refusals::declines;

use super::answer::{ErrorBody, ErrorMessage};
use super::descriptions::operations;
use super::rights;
use crate::limits::{METADATA_ITEMS_MAX, METADATA_KEY_CHARACTERS_MAX, METADATA_VALUE_CHARACTERS_MAX};

/// The section that only test servers have.
const SANDBOX: &str = "Sandbox";

/// Returns the sentence of a section's tag; `None` if no operation belongs to it.
const fn about(section: Section) -> Option<&'static str> {
    Some(match section {
        Section::Cards => "Stores card details in exchange for a single-use card token.",
        Section::PaymentSources => {
            "Stores cards, network tokens and the encrypted payloads of mobile wallets in exchange for a single-use token."
        }
        Section::Charges => {
            "Creates charges, captured at once or authorised first, and lists, searches, captures and voids them."
        }
        Section::Refunds => "Refunds charges, fully or partly.",
        Section::Authorisations => {
            "Reserves money on a card, and later captures it as a charge, wholly or in part, or voids it (beta)."
        }
        Section::Customers => "Stores customers with several cards, exactly one of which is primary.",
        Section::Plans => "Describes bills and their intervals, and subscribes customers to them.",
        Section::Subscriptions => {
            "Bills customers by a plan, interval by interval, until it ends or is cancelled."
        }
        Section::Transfers => "Pays money out, to recipients and to your own bank account.",
        Section::BankAccounts => {
            "Stores bank account details in exchange for a single-use bank account token."
        }
        Section::Recipients => "Stores the recipients of transfers.",
        Section::Deposits => "Shows money that arrived from outside.",
        Section::Balance => "Shows the balance of the account.",
        Section::Merchants => {
            "Refers merchants, and shows their settings and keys; for the key of an account that manages an approved partner."
        }
        Section::MobileWalletSupport => {
            "Registers domains, creates sessions and stores the certificates to which a wallet encrypts payments."
        }
        Section::Disputes => "Shows disputes of charges with their activity, and submits evidence.",
        Section::Files => "Stores uploaded files, which serve as evidence.",
        Section::WebhookEndpoints => "Registers the URLs that get a web request for each event.",
        Section::Webhooks => "Shows the web requests to webhook endpoints.",
        Section::Events => "Shows the events of the account.",
        Section::Sandbox => {
            "Controls time, faults, disputes, refunds and deposits for tests; a live server has no sandbox."
        }
        Section::Keys => return None,
    })
}

/// Returns the guide that says most about a section.
const fn guide(section: Section) -> &'static str {
    match section {
        Section::Charges => "quick-start",
        Section::Customers => "quick-start#a-customer-who-pays-again",
        Section::Cards => "testing#test-cards",
        Section::Authorisations => "testing#authorise-now-capture-a-part-later",
        Section::Sandbox => "testing",
        Section::PaymentSources | Section::MobileWalletSupport => "wallets",
        Section::Plans | Section::Subscriptions => "billing",
        Section::Refunds
        | Section::Transfers
        | Section::BankAccounts
        | Section::Recipients
        | Section::Deposits
        | Section::Balance => "money",
        Section::Merchants => "merchants",
        Section::Disputes | Section::Files => "disputes",
        Section::WebhookEndpoints | Section::Webhooks | Section::Events => "webhooks",
        Section::Keys => "concepts#accounts-keys-environments",
    }
}

/// Returns the tags, in the order of the specification's sections.
fn tags() -> Value {
    let mut tags = Vec::new();
    for section in Section::ALL {
        if let Some(about) = about(*section) {
            let guide = json!({ "url": format!("/docs/guide/{}", guide(*section)), "description": "Guide" });
            tags.push(json!({ "name": section.tag(), "description": about, "externalDocs": guide }));
        }
        if *section == Section::Webhooks {
            let about = "The requests to a webhook endpoint; they are no operations of this server.";
            tags.push(json!({ "name": webhooks::TAG, "description": about }));
        }
    }
    tags.into()
}

/// Returns the document: the annotations, and everything that holds for all operations.
pub fn finished(api: &OpenApi) -> Value {
    // The passes work on JSON, one shape instead of utoipa's many types. The document is the same at every start, so tests catch
    // what does not fit.
    let mut document = serde_json::to_value(api).expect("the document is JSON");
    head(&mut document);
    components(&mut document);
    names::references(&mut document);
    metadata(&mut document);
    let (schemas, mut forms) = (document["components"]["schemas"].clone(), BTreeSet::new());
    let (answers, refused) = (answers::recorded(), answers::refused());
    for (path, method, operation) in operations(&mut document) {
        let is_write = method != "get";
        parameters::in_path(path, operation);
        if is_write {
            parameters::repeatable(operation);
        } else {
            operation.shift_remove("requestBody");
        }
        refusals::describe(operation, is_write, &refused);
        rights::describe(operation);
        parameters::described(operation);
        forms::describe(operation, &schemas, &mut forms);
        examples::complete(operation, &schemas);
        answers::shown(operation, &answers);
    }
    forms::apart(&mut document["components"]["schemas"], forms);
    names::renamed(&mut document);
    links::links(&mut document);
    parameters::shared(&mut document);
    refusals::shared(&mut document);
    answers::shared(&mut document);
    answers::deleted(&mut document);
    head_operations(&mut document);
    document["webhooks"] = webhooks::section();
    webhooks::callbacks(&mut document);
    document
}

/// Returns the document of a live server, without the sandbox's section, header and test cards.
pub fn live(mut document: Value) -> Value {
    if let Some(tags) = document["tags"].as_array_mut() {
        tags.retain(|tag| tag["name"] != SANDBOX);
    }
    for (.., operation) in operations(&mut document) {
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        if let Some(parameters) = parameters {
            parameters.retain(|parameter| parameter["name"] != parameters::OUTCOME);
        }
    }
    let cards = DESCRIPTION.split_once("## Test cards").map(|(_, cards)| cards);
    if let Some((cards, _)) = cards.and_then(|cards| cards.split_once("\n## ")) {
        let cards = format!("## Test cards{cards}\n");
        document["info"]["description"] = DESCRIPTION.replace(&cards, "").into();
    }
    document
}

/// Returns the document as a server serves it: with the address that the operator has configured, if any, and the address that the
/// client used.
pub fn served(mut document: Value, named: Option<&str>, base: &str) -> Value {
    if let Some(named) = named {
        let own = if base.is_empty() { "/" } else { base };
        document["servers"] =
            json!([{ "url": named }, { "url": own, "description": "Where this document is." }]);
    }
    document
}

/// Returns the document as YAML, as it is committed.
pub fn yaml(document: &Value) -> String {
    yaml::written(document)
}

fn head(document: &mut Value) {
    document["info"] = json!({
        "title": "Card payments",
        "version": "1",
        "description": DESCRIPTION,
        // The document belongs to no particular server.
        "contact": { "name": "The operator of this server" },
        "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
    });
    document["servers"] = json!([{ "url": "/" }]);
    document["tags"] = tags();
    document["security"] = json!([{ "secret_key": [] }]);
}

/// The description at the head of the document.
const DESCRIPTION: &str = include_str!("openapi/front.md");

fn components(document: &mut Value) {
    for (name, schema) in [schema_of::<ErrorBody>(), schema_of::<ErrorMessage>()] {
        document["components"]["schemas"][name] = schema;
    }
    document["components"]["parameters"] = json!({
        "IdempotencyKey": {
            "name": "Idempotency-Key", "in": "header",
            "description": "Makes the request repeatable: repeated with the same key within 24 hours, it has no second effect and gets the first response.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
        },
    });
    document["components"]["headers"] = headers::components();
    document["components"]["securitySchemes"] = json!({
        "secret_key": { "type": "http", "scheme": "basic", "description": "The secret API key as the user name, an empty password." },
        "publishable_key": { "type": "apiKey", "in": "query", "name": "publishable_api_key", "description": "For browsers and mobile applications." },
    });
}

/// Adds the limits of metadata (specification, Limits) to every schema that has some.
fn metadata(document: &mut Value) {
    let schemas = document["components"]["schemas"].as_object_mut().into_iter().flat_map(Map::values_mut);
    for metadata in schemas.filter_map(|schema| schema.pointer_mut("/properties/metadata")) {
        metadata["maxProperties"] = METADATA_ITEMS_MAX.into();
        metadata["propertyNames"] = json!({ "maxLength": METADATA_KEY_CHARACTERS_MAX });
        metadata["additionalProperties"]["maxLength"] = METADATA_VALUE_CHARACTERS_MAX.into();
    }
}

fn schema_of<T: ToSchema>() -> (String, Value) {
    (T::name().into_owned(), serde_json::to_value(T::schema()).unwrap_or_default())
}

/// Replaces values that stand in several places by references to components, which it returns. Of different values with one name,
/// the second gets a number.
fn share(values: Vec<&mut Value>, kind: &str, name: fn(&Value) -> String) -> Map<String, Value> {
    let mut times: HashMap<String, u32> = HashMap::new();
    for value in &values {
        *times.entry(value.to_string()).or_default() += 1;
    }
    let mut shared = Map::new();
    for value in values {
        if times[&value.to_string()] > 1 {
            let mut named = name(value);
            let mut n = 1;
            while shared.get(&named).is_some_and(|other| other != value) {
                n += 1;
                named = format!("{}{n}", name(value));
            }
            shared.entry(&named).or_insert_with(|| value.clone());
            *value = json!({ "$ref": format!("#/components/{kind}/{named}") });
        }
    }
    shared
}

/// Adds the HEAD operations of the specification: those whose responses carry X-Total-Count. Every other GET answers HEAD as well
/// (`docs/decisions.md`, 365); the document says so once.
fn head_operations(document: &mut Value) {
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for path in paths.values_mut().filter_map(Value::as_object_mut) {
        let counts = |get: &&Value| get.pointer("/responses/200/headers/X-Total-Count").is_some();
        let Some(mut head) = path.get("get").filter(counts).cloned() else { continue };
        let id = head["operationId"].as_str().unwrap_or_default().to_owned();
        head["operationId"] = format!("head_{id}").into();
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
