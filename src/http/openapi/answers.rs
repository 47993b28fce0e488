//! What the document shows as answers: real ones, recorded by the document's tests.

use serde_json::{Map, Value};

/// A body for each operation that has one; `UPDATE_DOCUMENTS=1 cargo test --test it documents` records them anew where
/// one is missing or does not fit any more.
const RECORDED: &str = include_str!("answers.json");
/// Likewise, what each operation answers to faulty parameters.
const REFUSED: &str = include_str!("refusals.json");

pub(super) fn recorded() -> Value {
    serde_json::from_str(RECORDED).expect("answers.json is JSON")
}

pub(super) fn refused() -> Value {
    serde_json::from_str(REFUSED).expect("refusals.json is JSON")
}

/// The operation's answer, at its success.
pub(super) fn shown(operation: &mut Map<String, Value>, recorded: &Value) {
    let Some(body) = operation["operationId"].as_str().and_then(|id| recorded.get(id)).cloned() else {
        return;
    };
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    for (_, response) in responses.into_iter().flatten().filter(|(status, _)| status.as_str() < "300") {
        if let Some(content) = response.pointer_mut("/content/application~1json") {
            content["example"] = body.clone();
        }
    }
}
