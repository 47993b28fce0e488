//! Refusals: every error status of every operation, with each of its codes and an example body.

use std::collections::BTreeMap;

use entity::FailureCode;
use entity::failure::Decline;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::headers::{self, REPLAYED};
use super::operations;
use super::parameters::example_token;
use crate::error::{Error, ErrorCode, Refusal};
use crate::params::values::BLANK;
use crate::params::{FieldErrors, unknown_parameter};

/// Errors that any operation may answer with.
const EVERYWHERE: &[ErrorCode] = &[
    ErrorCode::BadRequest,
    ErrorCode::Unauthorized,
    ErrorCode::Forbidden,
    ErrorCode::PayloadTooLarge,
    ErrorCode::UnsupportedMediaType,
    ErrorCode::RateLimited,
    ErrorCode::InternalError,
    ErrorCode::ServiceUnavailable,
    ErrorCode::GatewayTimeout,
];

/// The note of a refusal that only strict handling causes, by which `coverage` knows it.
pub const STRICT_ONLY: &str = "only under strict handling";

/// The path of example bodies that several operations share.
pub(super) const EXAMPLES: &str = "#/components/examples/";

/// The key of an operation's `extensions` that lists its refusals as values.
const LISTED: &str = "x-refusals";

/// A refusal that an operation lists in its annotation: `NotFound`, `declines()`, `(GatewayError, "nothing was charged")`.
#[derive(Deserialize)]
#[serde(untagged)]
enum ListedRefusal {
    Code(ErrorCode),
    Codes(Vec<ErrorCode>),
    /// A note follows the code in the description.
    WithNote(ErrorCode, String),
    /// The body has a sentence of its own, and names no charge.
    WithSentence(ErrorCode, String, String),
}

struct DocumentedRefusal {
    code: ErrorCode,
    note: String,
    sentence: Option<String>,
}

impl From<ErrorCode> for DocumentedRefusal {
    fn from(code: ErrorCode) -> Self {
        Self { code, note: String::new(), sentence: None }
    }
}

impl ListedRefusal {
    fn refusals(self) -> Vec<DocumentedRefusal> {
        match self {
            Self::Code(code) => vec![code.into()],
            Self::Codes(codes) => codes.into_iter().map(DocumentedRefusal::from).collect(),
            Self::WithNote(code, note) => vec![DocumentedRefusal { code, note, sentence: None }],
            Self::WithSentence(code, note, sentence) => {
                vec![DocumentedRefusal { code, note, sentence: Some(sentence) }]
            }
        }
    }
}

/// Returns the codes of declined cards.
pub fn declines() -> Vec<ErrorCode> {
    Decline::ALL.iter().map(|decline| FailureCode::from(*decline).into()).collect()
}

/// Codes of refusals of parameters.
const OF_PARAMETERS: [ErrorCode; 3] =
    [ErrorCode::InvalidResource, ErrorCode::UnprocessableEntity, ErrorCode::InvalidSubscription];

/// Adds a response for each status of the listed refusals and of those that every operation has. `recorded` is the operation's
/// response to invalid parameters.
pub(super) fn describe(operation: &mut Map<String, Value>, is_write: bool, recorded: &Value) {
    let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
    let in_sandbox = operation.get("tags").is_some_and(|tags| tags[0] == super::SANDBOX);
    let listed = operation.shift_remove(LISTED).unwrap_or_else(|| json!([]));
    let listed: Vec<ListedRefusal> = serde_json::from_value(listed).expect("a list of refusals");
    let mut refusals: Vec<_> = listed.into_iter().flat_map(ListedRefusal::refusals).collect();
    let mut common = Vec::new();
    // Where nothing else refuses parameters, strict handling does (`docs/decisions.md`, 466).
    if refusals.iter().all(|refusal| !OF_PARAMETERS.contains(&refusal.code)) {
        let (code, note) = (ErrorCode::InvalidResource, STRICT_ONLY.to_owned());
        refusals.push(DocumentedRefusal { code, note, sentence: None });
    }
    if is_write {
        // For a merchant that is not active, in live; the sandbox exists only in test.
        common.extend((!in_sandbox).then_some(ErrorCode::ApiUnavailable));
        common.extend([ErrorCode::IdempotencyKeyReused, ErrorCode::IdempotencyKeyInUse]);
    }
    for code in common.iter().chain(EVERYWHERE) {
        if refusals.iter().all(|listed| listed.code != *code) {
            refusals.push((*code).into());
        }
    }
    let mut statuses: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for refusal in refusals {
        statuses.entry(refusal.code.status()).or_default().push(refusal);
    }
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for success in responses.values_mut() {
        if is_write {
            headers::name(success, REPLAYED);
        }
        headers::describe(success, &[]);
    }
    for (status, refusals) in statuses {
        responses.insert(status.to_string(), response(&id, refusals, &recorded[&id]));
    }
}

fn response(operation: &str, mut refusals: Vec<DocumentedRefusal>, recorded: &Value) -> Value {
    let describe = |DocumentedRefusal { code, note, .. }: &DocumentedRefusal| {
        if note.is_empty() { code.code().to_owned() } else { format!("{}: {note}", code.code()) }
    };
    let description = refusals.iter().map(describe).collect::<Vec<_>>().join(", ");
    refusals.sort_by_key(|refusal| refusal.code);
    let codes: Vec<_> = refusals.iter().map(|refusal| refusal.code).collect();
    let object = json!({ "$ref": "#/components/schemas/ErrorBody" });
    let schema = if codes.iter().any(|code| code.body_is_array()) {
        json!({ "type": "array", "items": object, "minItems": 1, "maxItems": 1 })
    } else {
        object
    };
    let examples: Map<_, _> = refusals
        .iter()
        .map(|refusal| (refusal.code.code().to_owned(), refusal.example(operation, recorded)))
        .collect();
    let mut response = json!({ "description": description });
    // Of refusals only declines are stored under a key (`docs/decisions.md`, 65).
    if codes.iter().any(|code| declines().contains(code)) {
        headers::name(&mut response, REPLAYED);
    }
    response["content"] = json!({ "application/json": { "schema": schema, "examples": examples } });
    headers::describe(&mut response, &codes);
    response
}

impl DocumentedRefusal {
    /// Returns the example: a reference where other operations answer the same.
    fn example(&self, operation: &str, recorded: &Value) -> Value {
        let shared = |name: String| json!({ "$ref": format!("{EXAMPLES}{name}") });
        if recorded["error"] == self.code.code() {
            json!({ "value": recorded })
        } else if self.note == STRICT_ONLY {
            shared(UNKNOWN_PARAMETER.to_owned())
        } else if let Some(sentence) = &self.sentence {
            example_body(&Error::explained(self.code, sentence.clone()))
        } else if is_about_payment(self.code) && operation.ends_with("_authorisation") {
            shared(authorisation_example(self.code))
        } else {
            shared(example_name(self.code).to_owned())
        }
    }
}

/// Returns a body as an example. Its name is the code, and its text says the rest, so it has no summary.
fn example_body(error: &Error) -> Value {
    json!({ "value": serde_json::to_value(error.body("0198c5e5")).unwrap_or_default() })
}

/// Returns the name of a code's example. Two codes are spelled alike; a subscription's has a body of its own.
fn example_name(code: ErrorCode) -> &'static str {
    if code == ErrorCode::InvalidSubscription { "invalid_subscription" } else { code.code() }
}

/// The name of the example of an unknown parameter.
const UNKNOWN_PARAMETER: &str = "unknown_parameter";

/// Returns the name of an example that names the authorisation, not the charge.
fn authorisation_example(code: ErrorCode) -> String {
    format!("authorisation_{}", example_name(code))
}

/// Returns the shared example bodies, made by the code that answers with them.
fn bodies() -> Map<String, Value> {
    let unknown = FieldErrors::one("captrue", unknown_parameter(Some("capture")));
    let mut bodies = Map::new();
    bodies.insert(UNKNOWN_PARAMETER.into(), example_body(&Error::Invalid(unknown)));
    for code in ErrorCode::ALL {
        if !matches!(code, ErrorCode::RouteNotFound | ErrorCode::MethodNotAllowed) {
            bodies.insert(example_name(*code).into(), example_body(&example(*code)));
        }
        if is_about_payment(*code) {
            let authorisation_token = example_token("auth_token");
            let refusal = Refusal { authorisation_token, ..Refusal::from(*code) };
            bodies.insert(authorisation_example(*code), example_body(&refusal.into()));
        }
    }
    bodies
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
    of_states.contains(&code) || FailureCode::ALL.iter().any(|failure| ErrorCode::from(*failure) == code)
}

fn example(code: ErrorCode) -> Error {
    if code == ErrorCode::InvalidResource {
        Error::Invalid(FieldErrors::one("card.number", BLANK))
    } else if code == ErrorCode::UnprocessableEntity {
        Error::plan(FieldErrors::one("amount", "is not a number"))
    } else if code == ErrorCode::InvalidSubscription {
        Error::subscription(FieldErrors::one("plan_token", BLANK))
    } else if code == ErrorCode::InvalidRequest {
        Error::not_the_customers_card()
    } else if code == ErrorCode::InternalError {
        Error::internal("an example")
    } else if is_about_payment(code) {
        Refusal { charge_token: example_token("charge_token"), ..Refusal::from(code) }.into()
    } else {
        code.into()
    }
}

/// Moves error responses that several operations share to the components, named after their codes.
pub(super) fn shared(document: &mut Value) {
    let mut shared = super::share(refusals(document).collect(), "responses", response_name);
    shared.sort_keys();
    document["components"]["responses"] = shared.into();
    let (mut bodies, text) = (bodies(), document.to_string());
    bodies.retain(|name, _| text.contains(&format!("{EXAMPLES}{name}\"")));
    document["components"]["examples"] = bodies.into();
}

fn refusals(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    operations(document)
        .filter_map(|(.., operation)| operation.get_mut("responses")?.as_object_mut())
        .flatten()
        .filter(|(status, _)| status.as_str() >= "400")
        .map(|(_, response)| response)
        .filter(|response| response.pointer("/content/application~1json/examples").is_some())
}

/// Parts of names that are shorter than their codes, because every operation names them.
const SHORT: [(&str, &str); 8] = [
    ("PayloadTooLarge", "TooLarge"),
    ("UnsupportedMediaType", "MediaType"),
    ("RateLimited", "Limited"),
    ("ServiceUnavailable", "Unavailable"),
    ("GatewayTimeout", "Timeout"),
    ("InternalError", "Internal"),
    ("IdempotencyKeyInUse", "KeyInUse"),
    ("IdempotencyKeyReused", "KeyReused"),
];

/// Codes that each refusal of their status may have. They name only a response that has few others.
const COMMON: [&str; 2] = ["bad_request", "api_unavailable"];

/// Returns the name: `NotFound`; `RepeatableNotFound` where the request may carry an Idempotency-Key; of more than three codes the first
/// one that is not common, and `OrOthers`.
fn response_name(response: &Value) -> String {
    let examples = response["content"]["application/json"]["examples"].as_object();
    let known = |example: &Value| example["$ref"].as_str().map(|name| name.rsplit('/').next().map(pascal));
    let named = |(code, example): (&String, &Value)| known(example).flatten().unwrap_or_else(|| pascal(code));
    let mut codes: Vec<_> = examples.into_iter().flatten().map(named).collect();
    if codes.len() > 3 {
        codes.retain(|code| !COMMON.map(pascal).contains(code));
        codes.truncate(1);
        codes.push("Others".into());
    }
    let repeatable = if response["headers"].get(REPLAYED).is_some() { "Repeatable" } else { "" };
    let name = format!("{repeatable}{}", codes.join("Or"));
    SHORT.iter().fold(name, |name, (code, short)| name.replace(code, short))
}

pub(super) fn pascal(code: &str) -> String {
    code.split(['_', '-']).map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}
