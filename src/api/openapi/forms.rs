//! Request bodies: JSON first, because every client generator takes the first, then the same as a form.

use serde_json::{Map, Value, json};

use super::names::SCHEMAS;

pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// Adds to a JSON body the same as a form, by the same schema. A body without required fields is optional, not null. A form writes
/// nested fields as name\[key\], which OpenAPI calls deepObject, and repeats the name of a list for each item.
pub(super) fn describe(operation: &mut Map<String, Value>, schemas: &Value) {
    let Some(body) = operation.get_mut("requestBody") else { return };
    let Some(content) = body["content"].as_object_mut() else { return };
    let Some((media, sent)) = content.iter_mut().next() else { return };
    if let Some(meant) = sent["schema"]["oneOf"].as_array().and_then(|either| not_null(either)) {
        sent["schema"] = meant;
    }
    let name = sent["schema"]["$ref"].as_str().and_then(|reference| reference.strip_prefix(SCHEMAS));
    let Some(name) = name.map(str::to_owned) else { return };
    if media == "application/json" {
        let mut form = json!({ "schema": sent["schema"] });
        let properties = schemas[&name]["properties"].as_object().into_iter().flatten();
        let encoding: Map<_, _> = properties
            .filter_map(|(name, schema)| Some((name.clone(), encoding(schema, schemas)?)))
            .collect();
        if !encoding.is_empty() {
            form["encoding"] = encoding.into();
        }
        content.insert(FORM.into(), form);
    }
    if schemas[&name].get("required").is_some() {
        body["required"] = true.into();
    } else if let Some(body) = body.as_object_mut() {
        body.shift_remove("required");
    }
}

/// Returns how a form writes a field that is a list or has fields of its own. A named schema is an object or a list of words.
fn encoding(schema: &Value, schemas: &Value) -> Option<Value> {
    let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix(SCHEMAS));
    let schema = name.map_or(schema, |name| &schemas[name]);
    if schema["type"].to_string().contains("\"array\"") {
        Some(json!({ "style": "form", "explode": true }))
    } else if schema.get("oneOf").is_some() || schema.to_string().contains("\"object\"") {
        Some(json!({ "style": "deepObject", "explode": true }))
    } else {
        None
    }
}

/// Returns the one alternative that is not null.
pub(super) fn not_null(either: &[Value]) -> Option<Value> {
    let mut meant = either.iter().filter(|schema| schema["type"] != "null");
    let one = meant.next()?.clone();
    meant.next().is_none().then_some(one)
}
