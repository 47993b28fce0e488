//! Actions on webhook endpoints that in live only operators have.

use axum::extract::State;

use crate::api::answer::{Created, Envelope, Shown};
use crate::api::extract::Path;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, InvalidState, RecordNotFound};
use crate::services::events::ping;
use crate::services::sandbox::params::NewWebhookKey;
use crate::services::sandbox::webhook_endpoints;
use crate::services::webhook_endpoints::keys::FORMER_SIGNS;
use crate::services::webhook_endpoints::view::RotatedKey;
use crate::services::webhooks::view::Webhook;

/// Ping a webhook endpoint.
///
/// Sends an event of the type ping to this endpoint and to no other, signed and delivered as every event is. Returns the
/// webhook, which tells what comes of it.
#[utoipa::path(post, path = "/sandbox/webhook_endpoints/{webhook_endpoint_token}/ping", tag = "Sandbox",
    responses((status = 201, description = "The webhook", body = Envelope<Webhook>)),
    extensions(("x-rights" = json!({ "webhook_endpoints": "write", "webhooks": "read" })), ("x-refusals" = json!([RecordNotFound]))))]
pub async fn ping_sandbox_webhook_endpoint(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Created<Webhook>, Error> {
    request.answer(ping::ping(&app, &request.caller, &token)).await
}

/// Rotate a webhook endpoint's key.
///
/// Gives the endpoint a fresh key. Until the grace has passed, by the account's clock, the former key signs as well:
/// webhook-signature then holds both signatures, and a receiver that knows either key believes it.
#[utoipa::path(put, path = "/sandbox/webhook_endpoints/{webhook_endpoint_token}/key", tag = "Sandbox",
    request_body(content = Option<NewWebhookKey>, example = json!({ "grace": "2d" })),
    responses((status = 200, description = "The fresh key", body = Envelope<RotatedKey>)),
    extensions(("x-rights" = json!({ "webhook_endpoints": "write" })), ("x-refusals" = json!([(InvalidState, "a former key still signs, and a grace is asked for", FORMER_SIGNS), RecordNotFound, InvalidResource]))))]
pub async fn rotate_sandbox_webhook_key(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<RotatedKey>, Error> {
    request.answer(webhook_endpoints::rotate(&app, &request.caller, &token, request.input.params())).await
}
