//! Names of the document that generated clients make names of their own of.

use std::collections::HashSet;

use serde_json::Value;

use super::{operations, resolved};
use crate::harness::app::DOCUMENT;

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

const SCHEMAS: &str = "#/components/schemas/";

#[test]
fn the_schema_of_a_request_is_an_input_or_changes() {
    let document = &*DOCUMENT;
    let mut bodies = HashSet::new();
    for (name, operation) in operations(document) {
        for (media, body) in fields(&operation["requestBody"]["content"]) {
            let schema = body["schema"]["$ref"].as_str().and_then(|named| named.strip_prefix(SCHEMAS));
            let schema = schema.unwrap_or_else(|| panic!("{name}: the body has no name: {media}"));
            assert!(schema.ends_with("Input") || schema.ends_with("Changes"), "{name}: {schema}");
            bodies.insert(schema);
        }
    }
    assert!(bodies.len() > 30, "{bodies:?}");
}

/// A client in Go has a function `NewCharge` and a type `Charge`, so a type `NewCharge` does not compile beside them.
#[test]
fn no_schema_is_called_as_the_constructor_of_another() {
    let document = &*DOCUMENT;
    let called: Vec<_> = fields(&document["components"]["schemas"])
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("New"))
        .collect();
    assert_eq!(called, [""; 0]);
}

/// A client has a file a section: what webhook endpoints are sent must not take the place of what this server is asked.
#[test]
fn webhook_requests_have_a_section_of_their_own() {
    let document = &*DOCUMENT;
    let used: HashSet<&Value> = operations(document).map(|(_, operation)| &operation["tags"][0]).collect();
    let declared: Vec<_> = document["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    for (name, item) in fields(&document["webhooks"]) {
        for (_, operation) in fields(resolved(document, item)) {
            let tags = operation["tags"].as_array().unwrap();
            assert!(
                tags.iter().all(|tag| declared.contains(&tag) && !used.contains(tag)),
                "{name}: {tags:?}"
            );
        }
    }
}

/// A name that holds a number changes with its neighbours, and with it the code of every generated client.
#[test]
fn no_name_is_numbered() {
    let document = &*DOCUMENT;
    for (kind, components) in fields(&document["components"]) {
        for (name, _) in fields(components) {
            assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{kind}: {name}");
        }
    }
}

/// A form is the same body, so it has the same schema.
#[test]
fn a_form_has_the_schema_of_the_json() {
    let mut seen = 0;
    for (name, operation) in operations(&DOCUMENT) {
        let content = &operation["requestBody"]["content"];
        if let Some(form) = content.get("application/x-www-form-urlencoded") {
            assert_eq!(form["schema"], content["application/json"]["schema"], "{name}");
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
}
