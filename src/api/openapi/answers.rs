//! Example responses: real ones, recorded by the document's tests.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::examples::SUCCESS;
use super::names::SCHEMAS;
use super::operations;
use super::refusals::EXAMPLES;

/// One response body per operation that has one. `UPDATE_DOCUMENTS=1 cargo test --test it documents` records those that are missing
/// or no longer fit.
const RECORDED: &str = include_str!("answers.json");
/// One response to invalid parameters per operation, recorded likewise.
const REFUSED: &str = include_str!("refusals.json");

pub(super) fn recorded() -> Value {
    serde_json::from_str(RECORDED).expect("answers.json is JSON")
}

pub(super) fn refused() -> Value {
    serde_json::from_str(REFUSED).expect("refusals.json is JSON")
}

/// Adds the recorded response to an operation's success status.
pub(super) fn shown(operation: &mut Map<String, Value>, recorded: &Value) {
    let Some(body) = operation["operationId"].as_str().and_then(|id| recorded.get(id)).cloned() else {
        return;
    };
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    for (_, response) in responses.into_iter().flatten().filter(|(status, _)| status.as_str() < "300") {
        if let Some(content) = response.pointer_mut("/content/application~1json") {
            content["examples"] = json!({ SUCCESS: { "value": body } });
        }
    }
}

/// Moves the examples to the components, one of each schema and named after it: a record as it was created, a page of a list. A changed
/// record differs in one field or two.
pub(super) fn shared(document: &mut Value) {
    let mut groups = BTreeMap::<String, Vec<(bool, &mut Map<String, Value>)>>::new();
    for (_, method, operation) in operations(document) {
        let id = operation["operationId"].as_str().unwrap_or_default();
        let shows_record = method == "get" || id.starts_with("create_");
        let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
        for (_, response) in responses.into_iter().flatten().filter(|(status, _)| status.as_str() < "300") {
            let json = response.pointer_mut("/content/application~1json").and_then(Value::as_object_mut);
            let Some(json) = json.filter(|json| json.contains_key("examples")) else { continue };
            let schema = json["schema"]["$ref"].as_str().and_then(|schema| schema.strip_prefix(SCHEMAS));
            // A charge that was just made may be pending; its example is not.
            let schema =
                schema.map(|schema| if schema == "ChargeMadeResponse" { "ChargeResponse" } else { schema });
            if let Some(schema) = schema.map(str::to_owned) {
                groups.entry(schema).or_default().push((shows_record, json));
            }
        }
    }
    let mut shared = Map::new();
    for (schema, mut alike) in groups {
        // The longest example wins: some lists below a record are empty.
        let longest = alike
            .iter()
            .max_by_key(|(shows_record, json)| (*shows_record, json["examples"].to_string().len()));
        let Some(fullest) = longest.map(|(_, json)| json["examples"][SUCCESS].clone()) else { continue };
        shared.insert(schema.clone(), fullest);
        for (_, json) in &mut alike {
            json.insert("examples".into(), json!({ SUCCESS: { "$ref": format!("{EXAMPLES}{schema}") } }));
        }
    }
    if let Some(examples) = document["components"]["examples"].as_object_mut() {
        examples.append(&mut shared);
    }
}

/// Moves the empty response of deletions to the components.
pub(super) fn deleted(document: &mut Value) {
    let empty =
        operations(document).filter_map(|(.., operation)| operation.get_mut("responses")?.get_mut("204"));
    let mut shared = super::share(empty.collect(), "responses", |_| "Deleted".to_owned());
    if let Some(responses) = document["components"]["responses"].as_object_mut() {
        responses.append(&mut shared);
        responses.sort_keys();
    }
}
