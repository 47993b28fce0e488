//! Response headers.

use serde_json::{Value, json};

use crate::api::answer;
use crate::error::ErrorCode;

/// On the replayed response to a repeated request.
pub(super) const REPLAYED: &str = "Idempotent-Replayed";
const REQUEST_ID: &str = "X-Request-Id";
const RETRY_AFTER: &str = "Retry-After";
const AUTHENTICATE: &str = "WWW-Authenticate";
const LINK: &str = "Link";
const RATE_LIMIT: &str = "RateLimit";
const RATE_LIMIT_POLICY: &str = "RateLimit-Policy";

/// Returns the description of each header.
pub(super) fn components() -> Value {
    json!({
        component(REPLAYED): {
            "description": "true where this is the answer to an earlier request with the same Idempotency-Key.",
            "schema": { "type": "string", "enum": ["true"] },
        },
        component(REQUEST_ID): {
            "description": "The id of the request: its own X-Request-Id, or a new one. Quote it when you ask for support.",
            "required": true,
            "schema": { "type": "string", "minLength": 1, "maxLength": 128 },
            "example": "0198c5e5-7d3a-7c41-9f0e-2b6a51d84c10",
        },
        component(RETRY_AFTER): {
            "description": "The number of seconds to wait before the next request.",
            "schema": { "type": "integer", "minimum": 1 },
            "example": 1,
        },
        component(AUTHENTICATE): {
            "description": "The authentication scheme and its realm.",
            "schema": { "type": "string", "enum": [answer::AUTHENTICATE] },
        },
        component(LINK): {
            "description": "The page that explains the error, with rel=\"help\".",
            "schema": { "type": "string" },
            "example": "</docs/errors/card_declined>; rel=\"help\"",
        },
        component(RATE_LIMIT_POLICY): {
            "description": "Where a limit is set, on every answer: q requests within w seconds (IETF draft 10).",
            "schema": { "type": "string" },
            "example": "\"account\";q=200;w=2",
        },
        component(RATE_LIMIT): {
            "description": "Where a limit is set, on every answer: r requests are left, and all of them again after t seconds.",
            "schema": { "type": "string" },
            "example": "\"account\";r=0;t=2",
        },
    })
}

/// Adds the request id to a response, and to a refusal the headers that say how to overcome it.
pub(super) fn describe(response: &mut Value, codes: &[ErrorCode]) {
    name(response, REQUEST_ID);
    if !codes.is_empty() {
        name(response, LINK);
    }
    if codes.contains(&ErrorCode::RateLimited) {
        name(response, RATE_LIMIT_POLICY);
        name(response, RATE_LIMIT);
    }
    if codes.contains(&ErrorCode::Unauthorized) {
        name(response, AUTHENTICATE);
    }
    if codes.iter().any(|code| code.is_transient()) {
        name(response, RETRY_AFTER);
    }
}

/// Adds a header to a response.
pub(super) fn name(response: &mut Value, header: &str) {
    response["headers"][header] = json!({ "$ref": format!("#/components/headers/{}", component(header)) });
}

/// Returns the name of a header's component: a short one for those that most responses have.
fn component(header: &str) -> String {
    match header {
        REPLAYED => "Replayed".to_owned(),
        REQUEST_ID => "Id".to_owned(),
        other => other.replace('-', ""),
    }
}
