//! Request of an account's log (`docs/decisions.md`, 280 and 281).

use entity::{JsonText, Timestamp, logged_request};
use macros::view;
use serde_json::Value;

use crate::error::ErrorCode;

/// A request of this account, and the response to it.
#[view(of(logged_request::Model))]
pub struct LoggedRequest {
    /// The X-Request-Id of the response.
    #[schema(example = "order-1001")]
    request_id: String,
    /// The HTTP method of the request.
    #[schema(example = "POST")]
    method: String,
    /// The path of the operation, with the names of its parameters.
    #[schema(example = "/1/charges/{charge_token}")]
    route: String,
    /// The path of the request, with its tokens; other values are left out.
    #[schema(example = "/1/charges/ch_AZqYv3rVcBKUQ1mHn7tKRw")]
    path: String,
    /// The HTTP status of the response; 499 if the client had disconnected.
    #[schema(example = 422)]
    status: i32,
    /// The milliseconds from the request to the response.
    #[schema(minimum = 0, example = 12)]
    #[shows(row.duration)]
    duration_ms: i64,
    /// The Idempotency-Key of the request; null if it had none.
    idempotency_key: Option<String>,
    /// Whether the response is that of an earlier request with the same Idempotency-Key.
    #[shows(row.replayed)]
    idempotent_replayed: bool,
    /// The parameters, as sent. Left out are secrets (numbers of cards and bank accounts, codes, passwords, keys,
    /// wallet
    /// payloads, URLs with credentials), metadata, and parameters that the operation does not read.
    #[schema(value_type = std::collections::BTreeMap<String, Value>, example = json!({ "amount": 50 }))]
    parameters: JsonText,
    /// The names of the parameters left out.
    #[schema(value_type = Vec<String>, example = json!(["card.number", "card.cvc"]))]
    hidden: JsonText,
    /// The error of the response; null if it succeeded.
    #[schema(value_type = Option<LoggedError>)]
    error: Option<JsonText>,
    /// The time of the request, by the account's clock.
    created_at: Timestamp,
}

/// An error of a logged response.
#[view]
pub struct LoggedError {
    /// The code of the error.
    #[schema(value_type = ErrorCode)]
    pub error: Value,
    /// A sentence that describes the error.
    #[schema(value_type = String, example = "One or more parameters were missing or invalid")]
    pub error_description: Value,
    /// One item for each invalid parameter.
    #[schema(value_type = Option<Vec<LoggedFault>>, nullable = false)]
    #[serde(skip_serializing_if = "Value::is_null")]
    pub messages: Value,
}

/// An invalid parameter in a logged response.
#[view]
pub struct LoggedFault {
    /// The name of the parameter; nested ones have a dot.
    #[schema(example = "card.number")]
    param: String,
    /// The code of the fault; absent in a 400 about the parameters of a subscription.
    #[schema(nullable = false, example = "card_number_invalid")]
    code: Option<String>,
    /// A sentence that describes the fault.
    #[schema(example = "Card number can't be blank")]
    message: String,
}

impl LoggedError {
    /// Parses the body of an error: an object, or a list that holds one.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let mut body: Value = serde_json::from_slice(body).ok()?;
        let mut error_body = if body.is_array() { body.get_mut(0)?.take() } else { body };
        let mut take = |name: &str| error_body.get_mut(name).map(Value::take).unwrap_or_default();
        let (error, error_description) = (take("error"), take("error_description"));
        Some(Self { error, error_description, messages: take("messages") })
    }
}
