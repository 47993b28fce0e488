//! Request bodies: JSON first, because every client generator takes the first, then the same as a form.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::names::SCHEMAS;

pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// Adds to a JSON body the same as a form. A body without required fields is optional, not null. Nested form fields are written
/// name\[key\], which OpenAPI calls deepObject. Adds the name of the form's schema to `forms`.
pub(super) fn describe(operation: &mut Map<String, Value>, schemas: &Value, forms: &mut BTreeSet<String>) {
    let Some(body) = operation.get_mut("requestBody") else { return };
    let Some(content) = body["content"].as_object_mut() else { return };
    let Some((media, sent)) = content.iter_mut().next() else { return };
    if let Some(meant) = sent["schema"]["oneOf"].as_array().and_then(|either| not_null(either)) {
        sent["schema"] = meant;
    }
    let name = sent["schema"]["$ref"].as_str().and_then(|reference| reference.strip_prefix(SCHEMAS));
    let Some(name) = name.map(str::to_owned) else { return };
    if media == "application/json" {
        let mut form = json!({ "schema": { "$ref": format!("{SCHEMAS}{name}Form") } });
        let properties = schemas[&name]["properties"].as_object().into_iter().flatten();
        let style = json!({ "style": "deepObject", "explode": true });
        let nested = properties.filter(|(_, schema)| is_object(schema, schemas));
        let encoding: Map<_, _> = nested.map(|(name, _)| (name.clone(), style.clone())).collect();
        if !encoding.is_empty() {
            form["encoding"] = encoding.into();
        }
        content.insert(FORM.into(), form);
        forms.insert(name.clone());
    }
    if schemas[&name].get("required").is_some() {
        body["required"] = true.into();
    } else if let Some(body) = body.as_object_mut() {
        body.shift_remove("required");
    }
}

/// Returns whether a field has fields of its own. A named schema of a field is an object or a list of words.
fn is_object(schema: &Value, schemas: &Value) -> bool {
    let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix(SCHEMAS));
    let schema = name.map_or(schema, |name| &schemas[name]);
    schema.get("oneOf").is_some() || schema.to_string().contains("\"object\"")
}

/// Returns the one alternative that is not null.
pub(super) fn not_null(either: &[Value]) -> Option<Value> {
    let mut meant = either.iter().filter(|schema| schema["type"] != "null");
    let one = meant.next()?.clone();
    meant.next().is_none().then_some(one)
}

/// Gives form and JSON a schema each: Python clients choose the encoding by the class of the body, and would send one shared class as
/// both. The form's schema holds the properties, because the Java generator leaves out schemas that only forms refer to, and because
/// an `allOf` of one part would only rename it. Only the JSON's has the description, which is the same.
pub(super) fn apart(schemas: &mut Value, forms: BTreeSet<String>) {
    for name in forms {
        let mut form = schemas[&name].take();
        let description = form.as_object_mut().and_then(|form| form.shift_remove("description"));
        let both = json!([{ "$ref": format!("{SCHEMAS}{name}Form") }, { "description": "As JSON." }]);
        schemas[&name] = json!({ "description": description, "allOf": both });
        schemas[format!("{name}Form")] = form;
    }
}
