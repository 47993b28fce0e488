//! Bodies of requests: JSON first, which every generator of clients takes, and the same as a form.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// The properties of each schema that are objects, and whether it requires any.
pub(super) struct Bodies(HashMap<String, (Vec<String>, bool)>);

impl Bodies {
    pub(super) fn of(document: &Value) -> Self {
        let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
        let read = |(name, schema): (&String, &Value)| {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let nested = properties.filter(|(_, schema)| is_object(schema)).map(|(name, _)| name.clone());
            (format!("#/components/schemas/{name}"), (nested.collect(), schema.get("required").is_some()))
        };
        Self(schemas.map(read).collect())
    }

    /// A body may be left out where nothing in it is required, and then it is not null. Nested fields of its form are
    /// written name[key], which the document calls deepObject.
    pub(super) fn describe(&self, operation: &mut Map<String, Value>) {
        let Some(body) = operation.get_mut("requestBody") else { return };
        let content = body["content"].as_object_mut();
        let mut required = false;
        for (media, body) in content.into_iter().flat_map(|content| content.iter_mut()) {
            if let Some(meant) = body["schema"]["oneOf"].as_array().and_then(|either| not_null(either)) {
                body["schema"] = meant;
            }
            let schema = body["schema"]["$ref"].as_str().and_then(|reference| self.0.get(reference));
            let Some((nested, requires)) = schema else { continue };
            required |= requires;
            if media == FORM {
                let style = json!({ "style": "deepObject", "explode": true });
                let encoding: Map<_, _> = nested.iter().map(|name| (name.clone(), style.clone())).collect();
                if !encoding.is_empty() {
                    body["encoding"] = encoding.into();
                }
            }
        }
        body["required"] = required.into();
    }
}

fn is_object(schema: &Value) -> bool {
    let text = schema.to_string();
    text.contains("\"$ref\"") || text.contains("\"object\"")
}

/// The one alternative that is not null.
fn not_null(either: &[Value]) -> Option<Value> {
    let mut meant = either.iter().filter(|schema| schema["type"] != "null");
    let one = meant.next()?.clone();
    meant.next().is_none().then_some(one)
}

/// The form as a schema of its own beside the JSON: clients in Python choose how to send a body by its class, and where
/// both are one class they send it as both.
pub(super) fn apart(operation: &mut Map<String, Value>) {
    let content = operation.get_mut("requestBody").and_then(|body| body["content"].as_object_mut());
    let Some(content) = content.filter(|content| content.contains_key(JSON)) else { return };
    if let Some(form) = content.get_mut(FORM) {
        form["schema"] = json!({ "allOf": [form["schema"], { "type": "object" }] });
    }
}
