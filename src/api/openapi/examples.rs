//! Example request bodies: the required fields with the examples of their own, and what an annotation gives. They succeed with the
//! keys of any account, except that tokens of records and wallet certificates must be the account's own.

use serde_json::{Map, Value, json};

use super::forms::FORM;
use super::names::SCHEMAS;

/// The name of the example of a request that succeeds, and of the response to it: tools pair requests and responses by name.
pub(super) const SUCCESS: &str = "success";

/// Test cards whose declines are examples, too, under the code of the response.
const DECLINED: [(&str, &str); 2] =
    [("card_declined", "4100000000000001"), ("insufficient_funds", "4000000000000002")];

/// Completes the examples of an operation's body. The form has the same fields, so only JSON has examples.
pub(super) fn complete(operation: &mut Map<String, Value>, schemas: &Value) {
    let refusals = operation["responses"]["400"]["content"]["application/json"]["examples"].clone();
    let content = operation.get_mut("requestBody").and_then(|body| body["content"].as_object_mut());
    for (_, body) in content.into_iter().flatten().filter(|(media, _)| media.as_str() != FORM) {
        let Some(body) = body.as_object_mut() else { continue };
        let given = body.shift_remove("example");
        let shown = completed(&body["schema"], given.as_ref(), schemas);
        let mut examples = json!({ SUCCESS: { "value": shown } });
        for (code, number) in DECLINED {
            if refusals.get(code).is_some() && shown["card"].get("number").is_some() {
                let mut declined = shown.clone();
                declined["card"]["number"] = number.into();
                examples[code] = json!({ "value": declined });
            }
        }
        body.insert("examples".to_owned(), examples);
    }
}

/// Returns the example of a request that succeeds.
pub(super) fn of_success(body: &Value) -> &Value {
    &body["examples"][SUCCESS]["value"]
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
