//! Events of which clients know what they hold, and events that are newer than they are.

use std::collections::BTreeSet;

use entity::event::EventType;
use serde_json::{Value, json};

use super::resolved;
use crate::harness::app::DOCUMENT;
use crate::harness::fields;

fn schema(name: &str) -> &'static Value {
    &DOCUMENT["components"]["schemas"][name]
}

#[test]
fn bodies_of_webhooks_are_in_the_document() {
    let document = &*DOCUMENT;
    let sent = &resolved(document, &document["webhooks"]["event"])["post"];
    let schema = &sent["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    let schema = schema.as_str().unwrap().strip_prefix('#').unwrap();
    for event in document.pointer(schema).unwrap()["oneOf"].as_array().unwrap() {
        assert_eq!(
            fields(&resolved(document, event)["properties"]),
            ["token", "type", "data", "created_at", "sequence"]
        );
    }
    let headers: Vec<_> =
        sent["parameters"].as_array().unwrap().iter().map(|header| &header["name"]).collect();
    assert_eq!(headers, ["webhook-id", "webhook-timestamp", "webhook-signature", "webhook-attempt"]);
}

#[test]
fn every_type_is_one_of_one_event_and_the_discriminator_names_that() {
    let known = schema("KnownEvent");
    let mut listed = Vec::new();
    for event in known["oneOf"].as_array().unwrap() {
        for what in resolved(&DOCUMENT, event)["properties"]["type"]["enum"].as_array().unwrap() {
            let what = what.as_str().unwrap();
            assert_eq!(known["discriminator"]["mapping"][what], event["$ref"], "{what}");
            listed.push(what);
        }
    }
    assert_eq!(listed.len(), EventType::ALL.len());
    let types: BTreeSet<_> = EventType::ALL.iter().map(|what| what.code()).collect();
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), types);
}

#[test]
fn the_data_of_a_captured_charge_are_a_charge() {
    let event = &schema("KnownEvent")["discriminator"]["mapping"]["charge.captured"];
    let event = DOCUMENT.pointer(&event.as_str().unwrap()[1..]).unwrap();
    assert_eq!(event["properties"]["data"]["$ref"], "#/components/schemas/Charge");
}

/// What a client is answered, it reads: a type that joins later is no reason to fail.
#[test]
fn answers_show_events_of_any_type_with_any_record() {
    let event = &schema("Event")["properties"];
    assert_eq!(resolved(&DOCUMENT, &event["type"]).get("enum"), None);
    assert_eq!(event["data"]["additionalProperties"], json!({}));
    for page in ["EventShortPage", "EventResponse"] {
        assert!(schema(page).to_string().contains("#/components/schemas/Event\""), "{page}");
    }
}

/// Of two shapes without a discriminator many generators read none, or both at once.
#[test]
fn no_answer_is_one_of_several_objects_that_nothing_tells_apart() {
    let mut seen = BTreeSet::new();
    for methods in DOCUMENT["paths"].as_object().unwrap().values() {
        for operation in methods.as_object().unwrap().values() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let json = &resolved(&DOCUMENT, response)["content"]["application/json"]["schema"];
                if status.as_str() < "400" {
                    choices(json, &format!("{} {status}", operation["operationId"]), &mut seen);
                }
            }
        }
    }
}

fn choices<'d>(schema: &'d Value, place: &str, seen: &mut BTreeSet<&'d str>) {
    if !schema.is_object() || schema["$ref"].as_str().is_some_and(|named| !seen.insert(named)) {
        return;
    }
    let schema = resolved(&DOCUMENT, schema);
    for kind in ["oneOf", "anyOf"] {
        let records = schema[kind].as_array().into_iter().flatten().filter(|one| one["type"] != "null");
        let is_told = schema.get("discriminator").is_some();
        assert!(records.count() < 2 || is_told, "{place}: {schema}");
    }
    let inner = ["oneOf", "anyOf", "allOf", "properties"].into_iter().flat_map(|kind| parts(&schema[kind]));
    for part in inner.chain(["items", "additionalProperties"].map(|kind| &schema[kind])) {
        choices(part, place, seen);
    }
}

fn parts(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
