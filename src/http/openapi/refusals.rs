//! Errors: every status of every operation, with each of its codes and an example body.

use std::collections::{BTreeMap, HashMap};

use entity::FailureCode;
use serde_json::{Map, Value, json};

use super::examples::token;
use super::headers::{self, REPLAYED};
use super::operations;
use crate::error::{Error, ErrorCode, Refusal};
use crate::params::FieldErrors;
use crate::services::{snapshots, transfers, webhook_endpoints};

/// Errors that any operation may answer with.
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

/// The path of example bodies that several operations share.
pub(super) const EXAMPLES: &str = "#/components/examples/";

/// Adds the Idempotency-Key, and its refusals, to an operation that changes something (`docs/decisions.md`, 63).
pub(super) fn repeatable(operation: &mut Map<String, Value>) {
    let in_sandbox = operation.get("tags").is_some_and(|tags| tags[0] == super::SANDBOX);
    let key = json!({ "$ref": "#/components/parameters/IdempotencyKey" });
    match operation.get_mut("parameters").and_then(Value::as_array_mut) {
        Some(parameters) => parameters.push(key),
        None => {
            operation.insert("parameters".into(), json!([key]));
        }
    }
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    // Only responses that changed something or reached the acquirer are stored under a key (`docs/decisions.md`, 65).
    for (status, response) in responses.iter_mut() {
        let codes = named(status, response["description"].as_str().unwrap_or_default());
        let of_cards = status.as_str() < "500" && codes.iter().any(|code| is_decline(*code));
        if status.as_str() < "300" || of_cards {
            headers::name(response, REPLAYED);
        }
    }
    // For a merchant that is not active, in live; the sandbox exists only in test.
    if !in_sandbox {
        says(responses, ErrorCode::ApiUnavailable);
    }
    says(responses, ErrorCode::IdempotencyKeyReused);
    says(responses, ErrorCode::IdempotencyKeyInUse);
}

/// Adds a code to its status, unless it is there.
fn says(responses: &mut Map<String, Value>, code: ErrorCode) {
    let response = responses.entry(code.status().to_string()).or_insert_with(|| json!({ "description": "" }));
    let said = response["description"].as_str().unwrap_or_default();
    let code = code.code();
    if said.split([',', ':', ' ']).any(|word| word == code) {
        return;
    }
    response["description"] = if said.is_empty() { code.into() } else { format!("{said}, {code}").into() };
}

/// Adds the example body of each error, and the errors of every operation. `recorded` is the operation's response to invalid
/// parameters.
pub(super) fn errors(operation: &mut Map<String, Value>, recorded: &Value) {
    let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
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
        let examples: Map<_, _> =
            codes.iter().map(|code| (code.code().to_owned(), shown(&id, *code, &recorded[&id]))).collect();
        response["content"] = json!({ "application/json": { "schema": schema, "examples": examples } });
    }
}

/// Returns the example of a refusal: a reference where other operations answer the same.
fn shown(operation: &str, code: ErrorCode, recorded: &Value) -> Value {
    let shared = |name: String| json!({ "$ref": format!("{EXAMPLES}{name}") });
    if recorded["error"] == code.code() {
        json!({ "summary": code.description(), "value": recorded })
    } else if let Some(error) = of_its_own(operation, code) {
        said(code, &error)
    } else if is_about_payment(code) && operation.ends_with("_authorisation") {
        shared(authorisation_example(code))
    } else {
        shared(example_name(code).to_owned())
    }
}

fn said(code: ErrorCode, error: &Error) -> Value {
    json!({ "summary": code.description(), "value": serde_json::to_value(error.body("0198c5e5")).unwrap_or_default() })
}

/// Returns the body of a refusal that one operation words in its own way, or without the charge that others name.
fn of_its_own(operation: &str, code: ErrorCode) -> Option<Error> {
    Some(match (operation, code) {
        ("create_transfer", ErrorCode::InsufficientServiceBalance) => {
            Error::explained(code, transfers::create::NOT_COVERED)
        }
        ("create_sandbox_snapshot", ErrorCode::LimitReached) => {
            Error::explained(code, snapshots::create::full())
        }
        ("restore_sandbox_snapshot", ErrorCode::InvalidState) => {
            Error::explained(code, snapshots::restore::OTHER_RELEASE)
        }
        ("rotate_sandbox_webhook_key", ErrorCode::InvalidState) => {
            Error::explained(code, webhook_endpoints::keys::FORMER_SIGNS)
        }
        ("verify_charge", ErrorCode::TransactionForbidden)
        | ("create_wallet_session", ErrorCode::GatewayError) => code.into(),
        _ => return None,
    })
}

/// Returns the codes that a response's description lists: "not_found", "gateway_error: nothing was charged".
pub(super) fn named(status: &str, description: &str) -> Vec<ErrorCode> {
    let words: Vec<_> = description.split([',', ':']).map(str::trim).collect();
    let meant = |code: &&ErrorCode| {
        code.status().to_string() == status
            && words.contains(&code.code())
            && **code != ErrorCode::RouteNotFound
    };
    ErrorCode::ALL.iter().filter(meant).copied().collect()
}

/// Two error codes are spelled alike; a subscription's has a body of its own.
fn example_name(code: ErrorCode) -> &'static str {
    if code == ErrorCode::InvalidSubscription { "invalid_subscription" } else { code.code() }
}

/// The refusal of an authorisation, where a charge's names the charge.
fn authorisation_example(code: ErrorCode) -> String {
    format!("authorisation_{}", example_name(code))
}

/// Returns the shared example bodies, made by the code that answers with them.
fn bodies() -> Map<String, Value> {
    let mut bodies = Map::new();
    for code in ErrorCode::ALL {
        if !matches!(code, ErrorCode::RouteNotFound | ErrorCode::MethodNotAllowed) {
            bodies.insert(example_name(*code).into(), said(*code, &example(*code)));
        }
        if is_about_payment(*code) {
            let authorisation_token = token("auth_token");
            let refusal = Refusal { authorisation_token, ..Refusal::from(*code) };
            bodies.insert(authorisation_example(*code), said(*code, &refusal.into()));
        }
    }
    bodies
}

fn is_decline(code: ErrorCode) -> bool {
    FailureCode::ALL.iter().any(|failure| ErrorCode::from(*failure) == code)
}

/// Tells whether the body of this code names the charge or authorisation.
fn is_about_payment(code: ErrorCode) -> bool {
    let of_states = [
        ErrorCode::AuthorisationExpired,
        ErrorCode::AlreadyVoided,
        ErrorCode::AlreadyCaptured,
        ErrorCode::BadAuthorisation,
        ErrorCode::InvalidCaptureAmount,
    ];
    of_states.contains(&code) || is_decline(code)
}

fn example(code: ErrorCode) -> Error {
    let fault = |param: &str, predicate: &'static str| {
        let mut faults = FieldErrors::default();
        faults.add(param, predicate);
        faults
    };
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
    } else if is_about_payment(code) {
        Refusal { charge_token: token("charge_token"), ..Refusal::from(code) }.into()
    } else {
        code.into()
    }
}

/// Moves error responses that several operations share to the components, named after their codes.
pub(super) fn shared(document: &mut Value) {
    let mut times: HashMap<String, u32> = HashMap::new();
    for response in refusals(document) {
        *times.entry(response.to_string()).or_default() += 1;
    }
    let mut shared = BTreeMap::new();
    for response in refusals(document) {
        if times.get(&response.to_string()).is_some_and(|times| *times > 1) {
            let name = response_name(response);
            // A response of the same name with another text stays at its operation.
            let known = shared.entry(name.clone()).or_insert_with(|| response.clone());
            if known == response {
                *response = json!({ "$ref": format!("#/components/responses/{name}") });
            }
        }
    }
    document["components"]["responses"] = shared.into_iter().collect();
    let (mut bodies, text) = (bodies(), document.to_string());
    bodies.retain(|name, _| text.contains(&format!("{EXAMPLES}{name}\"")));
    document["components"]["examples"] = bodies.into();
}

fn refusals(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    operations(document)
        .filter_map(|(_, operation)| operation.get_mut("responses")?.as_object_mut())
        .flat_map(|responses| responses.values_mut())
        .filter(|response| response.pointer("/content/application~1json/examples").is_some())
}

/// Returns the name: `NotFound`; `RepeatableNotFound` where the request may carry an Idempotency-Key; `...OrOthers` after three codes.
fn response_name(response: &Value) -> String {
    let examples = response["content"]["application/json"]["examples"].as_object();
    let known = |example: &Value| example["$ref"].as_str().map(|name| name.rsplit('/').next().map(pascal));
    let named = |(code, example): (&String, &Value)| known(example).flatten().unwrap_or_else(|| pascal(code));
    let mut codes: Vec<_> = examples.into_iter().flatten().map(named).collect();
    if codes.len() > 3 {
        codes.truncate(3);
        codes.push("Others".into());
    }
    let repeatable = if response["headers"].get(REPLAYED).is_some() { "Repeatable" } else { "" };
    format!("{repeatable}{}", codes.join("Or"))
}

pub(super) fn pascal(code: &str) -> String {
    code.split(['_', '-']).map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}
