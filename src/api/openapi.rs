//! The OpenAPI document: the handlers' annotations, completed by passes that no handler can forget.

mod answers;
mod bodies;
mod columns;
pub mod editions;
mod events;
mod examples;
mod forms;
mod headers;
mod links;
pub mod llms;
mod names;
mod parameters;
pub mod postman;
mod refusals;
mod samples;
mod tags;
mod webhooks;
mod yaml;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::OpenApi;

pub use bodies::{AddedCard, BrowserBankAccount, BrowserCard, BrowserPaymentSource, PaymentSourceSource};
pub use columns::{Columns, columns};
pub use parameters::{PageParameters, SearchParameters};
pub use refusals::{STRICT_ONLY, declines};

use super::answer::{ErrorBody, ErrorMessage};
use super::descriptions::operations;
use super::rights;
use crate::error::ErrorCode;
use crate::limits::{METADATA_ITEMS_MAX, METADATA_KEY_CHARACTERS_MAX, METADATA_VALUE_CHARACTERS_MAX};

/// The section that only test servers have.
const SANDBOX: &str = "Sandbox";

/// Returns the document: the annotations, and everything that holds for all operations.
pub fn finished(api: &OpenApi) -> Value {
    // The passes work on JSON, one shape instead of utoipa's many types. The document is the same at every start, so tests catch
    // what does not fit.
    let mut document = serde_json::to_value(api).expect("the document is JSON");
    head(&mut document);
    components(&mut document);
    names::references(&mut document);
    metadata(&mut document);
    rights(&mut document);
    integers(&mut document);
    let schemas = document["components"]["schemas"].clone();
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
        forms::describe(operation, &schemas);
        examples::complete(operation, &schemas);
        answers::shown(operation, &answers);
    }
    names::renamed(&mut document);
    links::links(&mut document);
    parameters::shared(&mut document);
    refusals::shared(&mut document);
    answers::shared(&mut document);
    answers::deleted(&mut document);
    head_operations(&mut document);
    webhooks::describe(&mut document);
    document
}

/// Returns the document of a live server, without the sandbox's section, headers and test cards.
pub fn live(mut document: Value) -> Value {
    if let Some(tags) = document["tags"].as_array_mut() {
        tags.retain(|tag| tag["name"] != SANDBOX);
    }
    let is_of_sandbox =
        |parameter: &Value| parameters::SANDBOX_HEADERS.iter().any(|header| parameter["name"] == *header);
    let mut gone = Vec::new();
    if let Some(shared) = document["components"]["parameters"].as_object_mut() {
        shared.retain(|name, parameter| {
            let is_gone = is_of_sandbox(parameter);
            gone.extend(is_gone.then(|| json!({ "$ref": format!("#/components/parameters/{name}") })));
            !is_gone
        });
    }
    for (.., operation) in operations(&mut document) {
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        if let Some(parameters) = parameters {
            parameters.retain(|parameter| !is_of_sandbox(parameter) && !gone.contains(parameter));
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
/// client used. Without the former the server's own address is the second one: a proxy in front of it has another.
pub fn served(mut document: Value, named: Option<&str>, base_url: &str, base_path: &str) -> Value {
    tags::guides_below(&mut document, base_path);
    let own = if base_path.is_empty() { "/" } else { base_path };
    let own = json!({ "url": own, "description": "Where this document is." });
    document["servers"] = match named {
        Some(named) => json!([{ "url": named }, own]),
        None => json!([own, { "url": base_url }]),
    };
    document
}

/// Returns the document as YAML, as it is committed.
pub fn yaml(document: &Value) -> String {
    yaml::written(document)
}

/// The address of a server without configuration.
const INSTALLED: &str = "http://127.0.0.1:8080";

fn head(document: &mut Value) {
    document["info"] = json!({
        "title": "Card payments",
        "version": env!("CARGO_PKG_VERSION"),
        "description": DESCRIPTION,
        // The document belongs to no particular server.
        "contact": { "name": "The operator of this server" },
        "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
    });
    document["servers"] = json!([{ "url": INSTALLED, "description": "A local server, as it is installed.", "x-internal": false }]);
    document["tags"] = tags::tags();
    document["security"] = json!([{ "secret_key": [] }]);
}

/// The description at the head of the document.
const DESCRIPTION: &str = include_str!("openapi/front.md");

fn components(document: &mut Value) {
    for (name, schema) in [schema_of::<ErrorBody>(), schema_of::<ErrorMessage>(), schema_of::<ErrorCode>()] {
        document["components"]["schemas"][name] = schema;
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        events::add(schemas);
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

/// States that a new key has at least one right: an empty map counts as none (`docs/decisions.md`, 8).
fn rights(document: &mut Value) {
    if let Some(rights) = document.pointer_mut("/components/schemas/ApiKeyInput/properties/rights") {
        rights["minProperties"] = 1.into();
    }
}

/// Gives every integer the same format, in requests and in responses.
fn integers(value: &mut Value) {
    if value["type"].as_str() == Some("integer")
        || value["type"].as_array().is_some_and(|types| types.contains(&json!("integer")))
    {
        value["format"] = "int64".into();
    }
    names::each(value).for_each(integers);
}

fn schema_of<T: ToSchema>() -> (String, Value) {
    (T::name().into_owned(), serde_json::to_value(T::schema()).unwrap_or_default())
}

/// Replaces values that stand in several places by references to components, which it returns. Of different values with one name,
/// the most frequent is the component and the others stay where they are: a name never depends on how many there are.
fn share(values: Vec<&mut Value>, kind: &str, name: fn(&Value) -> String) -> Map<String, Value> {
    let mut named: BTreeMap<String, Vec<Vec<&mut Value>>> = BTreeMap::new();
    for value in values {
        let groups = named.entry(name(value)).or_default();
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| **first == *value)) {
            Some(group) => group.push(value),
            None => groups.push(vec![value]),
        }
    }
    let mut shared = Map::new();
    for (name, groups) in named {
        // Of groups of one size the first one wins.
        let most = groups.into_iter().rev().max_by_key(Vec::len).unwrap_or_default();
        if most.len() > 1 {
            let reference = json!({ "$ref": format!("#/components/{kind}/{name}") });
            for value in most {
                let value = std::mem::replace(value, reference.clone());
                shared.insert(name.clone(), value);
            }
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
        head["responses"]["200"]["description"] = "The headers of the list".into();
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
