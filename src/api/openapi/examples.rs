//! Example request bodies: the required fields with the examples of their own, and what an annotation gives. They succeed with the
//! keys of any account, except that tokens of records and wallet certificates must be the account's own.

use serde_json::{Map, Value};

use super::forms::FORM;
use super::names::SCHEMAS;

/// Completes the example of an operation's body. The form has the same fields, so only JSON has an example.
pub(super) fn complete(operation: &mut Map<String, Value>, schemas: &Value) {
    let content = operation.get_mut("requestBody").and_then(|body| body["content"].as_object_mut());
    for (_, body) in content.into_iter().flatten().filter(|(media, _)| media.as_str() != FORM) {
        body["example"] = completed(&body["schema"], body.get("example"), schemas);
    }
}

/// Returns the required fields, and `given` over them. A given object is completed likewise.
fn completed(schema: &Value, given: Option<&Value>, schemas: &Value) -> Value {
    let reference = |schema: &Value| Some(schema["$ref"].as_str()?.strip_prefix(SCHEMAS)?.to_owned());
    let first = schema["oneOf"].as_array().and_then(|either| either.iter().find_map(reference));
    if let Some(name) = reference(schema).or(first) {
        return completed(&schemas[name], given, schemas);
    }
    let Some(fields) = schema["properties"].as_object() else {
        let word = || schema["enum"].get(0).or(schema["examples"].get(0));
        return given.or(schema.get("example")).or_else(word).cloned().unwrap_or_default();
    };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let own = |name: &str| (name.to_owned(), completed(&fields[name], None, schemas));
    let mut shown: Map<_, _> = required.map(own).collect();
    for (name, given) in given.and_then(Value::as_object).into_iter().flatten() {
        shown.insert(name.clone(), completed(&fields[name], Some(given), schemas));
    }
    shown.into()
}
