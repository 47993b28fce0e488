//! The OpenAPI document of the protocol: the annotations, and additions that hold for all operations.

use serde_json::{Map, Value, json};
use utoipa::PartialSchema as _;

use super::serve::operations;
use super::wire::Refused;

/// Returns the text of docs/acquirer/openapi.yaml.
pub fn yaml() -> String {
    yaml_serde::to_string(&document()).expect("YAML can say all that JSON can")
}

/// Returns the document as JSON.
pub fn document() -> Value {
    let (_, described) = operations().split_for_parts();
    // A pass over JSON: one shape instead of utoipa's many.
    let mut document = serde_json::to_value(described).expect("the document is JSON");
    document["info"] = json!({
        "title": "Acquirer",
        "version": "1",
        "description": include_str!("document.md"),
        // Generic: the document belongs to no single acquirer.
        "contact": { "name": "The operator of this acquirer" },
        "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
    });
    document["servers"] = json!([{ "url": "/", "description": "CARD_PAYMENTS_ACQUIRER" }]);
    document["security"] = json!([{ "signature": [] }]);
    document["tags"] = json!([
        { "name": "Acquirer", "description": "Identifies the acquirer." },
        { "name": "Directory", "description": "Data about cards and rates, before any payment." },
        { "name": "Payments", "description": "Calls that move money, each under its key." },
        { "name": "Lost answers", "description": "Outcomes of unanswered calls." },
    ]);
    document["components"]["securitySchemes"] = json!({ "signature": {
        "type": "apiKey", "in": "header", "name": "Acquirer-Signature",
        "description": "v1, and the base64 of HMAC-SHA256 under the shared secret.",
    } });
    document["components"]["parameters"] = json!({
        "Protocol": header("Acquirer-Protocol", "The version of the protocol.", &json!("1")),
        "Environment": header("Acquirer-Environment", "test or live.", &json!("test")),
        "Timestamp": header("Acquirer-Timestamp", "The time of the signature, in seconds since 1970.", &json!("1772445600")),
        "Key": header("Idempotency-Key", "The permanent name of the call.", &json!("ch_AZqYv3rVcBKUQ1mHn7tKRw:charge")),
    });
    document["components"]["headers"] = json!({
        "Protocol": { "description": "The version of the protocol.", "schema": { "type": "string" }, "example": "1" },
        "Environment": { "description": "test or live.", "schema": { "type": "string" }, "example": "test" },
        "Signature": { "description": "The signature of environment, status, the request's signature and body.", "schema": { "type": "string" } },
    });
    document["components"]["schemas"]["Refused"] =
        serde_json::to_value(Refused::schema()).unwrap_or_default();
    let paths = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    for operation in paths.filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        finish(operation);
    }
    // Schemas that are inlined into the answers have no other user.
    let text = document.to_string();
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| text.contains(&format!("\"#/components/schemas/{name}\"")));
    }
    document
}

fn header(name: &str, description: &str, example: &Value) -> Value {
    let schema = json!({ "type": "string", "minLength": 1, "maxLength": 255 });
    json!({ "name": name, "in": "header", "required": true, "description": description, "schema": schema, "example": example })
}

/// Adds the headers and answers that every operation has, and those of its kind.
fn finish(operation: &mut Value) {
    let is_payment = operation["tags"][0] == "Payments";
    let is_question = operation["tags"][0] == "Directory";
    let named = ["Protocol", "Environment", "Timestamp"].into_iter().chain(is_payment.then_some("Key"));
    operation["parameters"] =
        named.map(|name| json!({ "$ref": format!("#/components/parameters/{name}") })).collect();
    let responses = &mut operation["responses"];
    responses["200"]["headers"] = headers(true);
    let malformed = "malformed: signed, and certain that nothing was done. protocol, environment: refused unread, without a signature";
    responses["400"] = refused(malformed, false);
    responses["401"] = refused("signature, clock: refused unread, without a signature", false);
    responses["404"] = refused("unknown: nothing was done", true);
    if is_question {
        responses["503"] = refused("silent: no answer from the source of the data", true);
    }
    if is_payment {
        let slow = "The bank was too slow, so the call may have been done: no body and no signature";
        responses["504"] = json!({ "description": slow, "headers": headers(false) });
    }
}

fn refused(description: &str, signed: bool) -> Value {
    let schema = json!({ "$ref": "#/components/schemas/Refused" });
    let content = json!({ "application/json": { "schema": schema } });
    json!({ "description": description, "headers": headers(signed), "content": content })
}

fn headers(signed: bool) -> Value {
    let named = ["Protocol", "Environment"].into_iter().chain(signed.then_some("Signature"));
    let headers = named
        .map(|name| (format!("Acquirer-{name}"), json!({ "$ref": format!("#/components/headers/{name}") })));
    headers.collect::<Map<_, _>>().into()
}
