//! The document's `webhooks`, the requests that this server sends, and `callbacks` of the operations that cause some.

use serde_json::{Map, Value, json};

use super::events;
use super::names::SCHEMAS;

/// A tag of its own: with the tag `Webhooks`, generators would overwrite that section's file.
pub(super) const TAG: &str = "Webhook requests";

/// The operations of which at least one event comes at once, but for those of the sandbox.
const CAUSES: &[&str] = &[
    "create_charge",
    "void_charge",
    "capture_charge",
    "create_refund",
    "create_authorisation",
    "void_authorisation",
    "capture_authorisation",
    "create_customer",
    "update_customer",
    "delete_customer",
    "cancel_customer_subscription",
    "create_plan",
    "delete_plan",
    "create_plan_subscription",
    "create_subscription",
    "cancel_subscription",
    "reactivate_subscription",
    "create_transfer",
    "create_recipient",
    "update_recipient",
    "create_merchant",
    "submit_dispute_evidence",
    "accept_dispute",
];

/// Adds the requests that this server sends. They are path items among the components, because some generators make a client of what
/// stands right under `webhooks`.
pub(super) fn describe(document: &mut Value) {
    let mut sent = section();
    let reference = |name: &String| json!({ "$ref": format!("#/components/pathItems/{name}") });
    let named: Map<_, _> =
        sent.as_object().into_iter().flatten().map(|(name, _)| (name.clone(), reference(name))).collect();
    document["components"]["pathItems"] = sent.take();
    document["webhooks"] = named.into();
    callbacks(document);
}

/// Adds `callbacks` to the operations that cause events. They name no shared request, because fastapi-code-generator and
/// openapi-python-client read none.
fn callbacks(document: &mut Value) {
    let event = json!({ "event": { "https://example.com/webhooks": { "post": {
        "summary": "An event.",
        "requestBody": { "required": true, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Event" } } } },
        "responses": { "2XX": { "description": "Accepted" }, "4XX": { "description": "Not accepted: it is sent again" } },
    } } } });
    for (.., operation) in super::operations(document) {
        if operation["operationId"].as_str().is_some_and(|id| CAUSES.contains(&id)) {
            operation.insert("callbacks".into(), event.clone());
        }
    }
}

/// Returns the request that every webhook endpoint gets for every event.
fn section() -> Value {
    let header = |name: &str, description: &str, example: &str| {
        json!({
            "name": name, "in": "header", "required": true, "description": description,
            "schema": { "type": "string" }, "example": example,
        })
    };
    json!({
        "event": {
            "post": {
                "operationId": "receive_event",
                "summary": "An event.",
                "description": "Sent to every webhook endpoint of the account for every event, signed as the Standard Webhooks specification says, until the endpoint answers with a 2xx status within 15 seconds or eight retries have failed. At least once, in no promised order, but with their number in it: `webhook-id` is the key to drop repeats. `type` tells which record `data` holds. More types join over time: tolerate unknown ones.",
                "tags": [TAG],
                "security": [],
                "parameters": [
                    header("webhook-id", "The event's token.", "evt_AZqYv3rVcBKUQ1mHn7tKRw"),
                    header("webhook-timestamp", "The time of this attempt, in seconds since the epoch.", "1772445600"),
                    header("webhook-signature", "`v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`, under the endpoint's key. For a while after a rotation of the key a second one follows a space, under the former key.", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
                    header("webhook-attempt", "1 at first, and one more with each retry. An extension.", "1"),
                ],
                "requestBody": {
                    "required": true,
                    "content": { "application/json": { "schema": { "$ref": format!("{SCHEMAS}{}", events::KNOWN) } } },
                },
                "responses": {
                    "2XX": { "description": "Accepted" },
                    "4XX": { "description": "Not accepted: it is sent again" },
                    "default": { "description": "Not accepted: it is sent again" },
                },
            },
        },
    })
}
