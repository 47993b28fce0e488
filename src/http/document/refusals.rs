//! Errors: every status of every operation with each of its codes by name, and what its body looks like.

use std::collections::{BTreeMap, HashMap};

use entity::FailureCode;
use serde_json::{Map, Value, json};

use super::examples::token;
use super::headers::{self, REPLAYED};
use super::operations;
use crate::error::{Error, ErrorCode, Refusal};
use crate::params::Faults;

/// Errors that any operation may answer with, whatever it does.
const EVERYWHERE: &[ErrorCode] = &[
    ErrorCode::BadRequest,
    ErrorCode::Unauthorized,
    ErrorCode::PayloadTooLarge,
    ErrorCode::UnsupportedMediaType,
    ErrorCode::RateLimited,
    ErrorCode::InternalError,
    ErrorCode::ServiceUnavailable,
    ErrorCode::GatewayTimeout,
];

/// What changes something can be asked for once more without a second effect (decisions 2).
pub(super) fn repeatable(operation: &mut Map<String, Value>) {
    let in_sandbox = operation.get("tags").is_some_and(|tags| tags[0] == "Sandbox");
    let key = json!({ "$ref": "#/components/parameters/IdempotencyKey" });
    match operation.get_mut("parameters").and_then(Value::as_array_mut) {
        Some(parameters) => parameters.push(key),
        None => {
            operation.insert("parameters".into(), json!([key]));
        }
    }
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for (status, response) in responses.iter_mut() {
        if status.as_str() < "500" {
            headers::name(response, REPLAYED);
        }
    }
    // In live, of a merchant that is not active (decisions 10); there is no sandbox.
    if !in_sandbox {
        says(responses, ErrorCode::ApiUnavailable);
    }
    says(responses, ErrorCode::IdempotencyKeyReused);
    says(responses, ErrorCode::IdempotencyKeyInUse);
}

/// Names one more code at its status, once.
fn says(responses: &mut Map<String, Value>, code: ErrorCode) {
    let response = responses.entry(code.status().to_string()).or_insert_with(|| json!({ "description": "" }));
    let said = response["description"].as_str().unwrap_or_default();
    let code = code.code();
    if said.split([',', ':', ' ']).any(|word| word == code) {
        return;
    }
    response["description"] = if said.is_empty() { code.into() } else { format!("{said}, {code}").into() };
}

/// Every error has its body, and the errors of everywhere stand at every operation.
pub(super) fn errors(operation: &mut Map<String, Value>) {
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for code in EVERYWHERE {
        says(responses, *code);
    }
    responses.sort_keys();
    for (status, response) in responses.iter_mut().filter(|(status, _)| status.as_str() >= "400") {
        let object = json!({ "$ref": "#/components/schemas/ErrorBody" });
        let codes = named(status, response["description"].as_str().unwrap_or_default());
        let schema = if codes.iter().any(|code| code.body_is_array()) {
            json!({ "type": "array", "items": object, "minItems": 1, "maxItems": 1 })
        } else {
            object
        };
        let example = |code: &ErrorCode| {
            let reference = format!("#/components/examples/{}", example_name(*code));
            (code.code().to_owned(), json!({ "$ref": reference }))
        };
        let examples: Map<_, _> = codes.iter().map(example).collect();
        response["content"] = json!({ "application/json": { "schema": schema, "examples": examples } });
    }
}

/// The codes that a response's description names: "not_found", "gateway_error: nothing was charged".
pub(super) fn named(status: &str, description: &str) -> Vec<ErrorCode> {
    let words: Vec<_> = description.split([',', ':']).map(str::trim).collect();
    let meant = |code: &&ErrorCode| {
        code.status().to_string() == status
            && words.contains(&code.code())
            && **code != ErrorCode::RouteNotFound
    };
    ErrorCode::ALL.iter().filter(meant).copied().collect()
}

/// Of the two codes that are spelled alike, a subscription's has a body of its own.
fn example_name(code: ErrorCode) -> &'static str {
    if code == ErrorCode::InvalidSubscription { "invalid_subscription" } else { code.code() }
}

/// The bodies to which the errors of all operations refer, as the code makes them.
pub(super) fn bodies() -> Map<String, Value> {
    let mut bodies = Map::new();
    for code in ErrorCode::ALL {
        if !matches!(code, ErrorCode::RouteNotFound | ErrorCode::MethodNotAllowed) {
            let body = serde_json::to_value(example(*code).body("0198c5e5")).unwrap_or_default();
            bodies
                .insert(example_name(*code).into(), json!({ "summary": code.description(), "value": body }));
        }
    }
    bodies
}

fn example(code: ErrorCode) -> Error {
    let fault = |param: &str, predicate: &'static str| {
        let mut faults = Faults::default();
        faults.add(param, predicate);
        faults
    };
    let of_charges = [
        ErrorCode::AuthorisationExpired,
        ErrorCode::AlreadyVoided,
        ErrorCode::AlreadyCaptured,
        ErrorCode::BadAuthorisation,
        ErrorCode::InvalidCaptureAmount,
    ];
    let declines = FailureCode::ALL.iter().map(|failure| ErrorCode::from(*failure));
    if code == ErrorCode::InvalidResource {
        Error::Invalid(fault("card.number", "can't be blank"))
    } else if code == ErrorCode::UnprocessableEntity {
        Error::plan(fault("amount", "is not a number"))
    } else if code == ErrorCode::InvalidSubscription {
        Error::subscription(fault("plan_token", "can't be blank"))
    } else if code == ErrorCode::InvalidRequest {
        Error::not_the_customers_card()
    } else if code == ErrorCode::InternalError {
        Error::internal("an example")
    } else if of_charges.into_iter().chain(declines).any(|about| about == code) {
        Refusal { charge_token: token("charge_token"), ..Refusal::from(code) }.into()
    } else {
        code.into()
    }
}

/// What several operations answer alike stands once, under the names of its codes.
pub(super) fn shared(document: &mut Value) {
    let mut times: HashMap<String, u32> = HashMap::new();
    for response in refusals(document) {
        *times.entry(response.to_string()).or_default() += 1;
    }
    let mut shared = BTreeMap::new();
    for response in refusals(document) {
        if times.get(&response.to_string()).is_some_and(|times| *times > 1) {
            let name = response_name(response);
            // Said in other words of another operation: that one is shown where it is.
            let known = shared.entry(name.clone()).or_insert_with(|| response.clone());
            if known == response {
                *response = json!({ "$ref": format!("#/components/responses/{name}") });
            }
        }
    }
    document["components"]["responses"] = shared.into_iter().collect();
}

fn refusals(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    operations(document)
        .filter_map(|(_, operation)| operation.get_mut("responses")?.as_object_mut())
        .flat_map(|responses| responses.values_mut())
        .filter(|response| response.pointer("/content/application~1json/examples").is_some())
}

/// `NotFound`; `RepeatableNotFound` where the request may carry an Idempotency-Key.
fn response_name(response: &Value) -> String {
    let codes = response["content"]["application/json"]["examples"].as_object();
    let codes: Vec<_> = codes.into_iter().flatten().map(|(code, _)| pascal(code)).collect();
    let repeatable = if response["headers"].get(REPLAYED).is_some() { "Repeatable" } else { "" };
    format!("{repeatable}{}", codes.join("Or"))
}

fn pascal(code: &str) -> String {
    code.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}
