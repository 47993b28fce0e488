//! Actions on webhook endpoints that in live only operators have.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Created, Envelope, Shown};
use crate::http::extract::Path;
use crate::http::write_request::WriteRequest;
use crate::params::sandbox::NewWebhookKey;
use crate::services::events::ping;
use crate::services::sandbox::webhook_endpoints;
use crate::views::webhook::Webhook;
use crate::views::webhook_endpoint::RotatedKey;

/// Ping a webhook endpoint.
///
/// Sends an event of the type ping to this endpoint only, signed and delivered as every event. Returns the webhook, which
/// shows the result.
#[utoipa::path(post, path = "/sandbox/webhook_endpoints/{webhook_endpoint_token}/ping", tag = "Sandbox", operation_id = "ping_sandbox_webhook_endpoint",
    params(("webhook_endpoint_token" = String, Path, description = "Webhook endpoint token")),
    responses((status = 201, description = "The webhook", body = Envelope<Webhook>), (status = 404, description = "resource_not_found")))]
pub async fn ping_sandbox_webhook_endpoint(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Created<Webhook>, Error> {
    request.answer(ping::ping(&site, &request.caller, &token)).await
}

/// Rotate a webhook endpoint's key.
///
/// Gives the endpoint a new key. Until the grace period ends, by the account's clock, the former key signs as well:
/// webhook-signature then holds both signatures, and a receiver with either key accepts it.
#[utoipa::path(put, path = "/sandbox/webhook_endpoints/{webhook_endpoint_token}/key", tag = "Sandbox", operation_id = "rotate_sandbox_webhook_key",
    params(("webhook_endpoint_token" = String, Path, description = "Webhook endpoint token")),
    request_body(content((Option<NewWebhookKey> = "application/json"), (Option<NewWebhookKey> = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The new key", body = Envelope<RotatedKey>),
        (status = 400, description = "invalid_state: a former key still signs, and a grace is asked for"),
        (status = 404, description = "resource_not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn rotate_sandbox_webhook_key(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<RotatedKey>, Error> {
    request.answer(webhook_endpoints::rotate(&site, &request.caller, &token, request.input.params())).await
}
