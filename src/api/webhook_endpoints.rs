//! Webhook endpoints (specification, Endpoints, Webhook endpoints).

use axum::extract::State;
use entity::section::Right;

use super::answer::{Created, Deleted, Envelope, ListedShort, ShortList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use super::operations::{Operations, routes};
use super::rights::everywhere;
use super::state::AppState;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, LimitReached, RecordNotFound};
use crate::services::webhook_endpoints::params::NewWebhookEndpoint;
use crate::services::webhook_endpoints::view::WebhookEndpoint;
use crate::services::{Account, webhook_endpoints};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(create_webhook_endpoint, list_webhook_endpoints))
        .routes(routes!(get_webhook_endpoint, delete_webhook_endpoint))
}

/// Create a webhook endpoint.
///
/// Registers a URL that is sent a web request for each event from now on.
#[utoipa::path(post, path = "/webhook_endpoints", tag = "Webhook endpoints",
    request_body = NewWebhookEndpoint,
    responses((status = 201, description = "The webhook endpoint", body = Envelope<WebhookEndpoint>)),
    extensions(("x-rights" = json!(everywhere(Right::Read))), ("x-refusals" = json!([LimitReached, InvalidResource]))))]
pub async fn create_webhook_endpoint(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<WebhookEndpoint>, Error> {
    request.answer(webhook_endpoints::register(&app, &request.caller, request.input.params())).await
}

/// List webhook endpoints.
///
/// Returns a list of all webhook endpoints, newest first.
#[utoipa::path(get, path = "/webhook_endpoints", tag = "Webhook endpoints", params(PageParameters),
    responses((status = 200, description = "A page of webhook endpoints", body = ShortList<WebhookEndpoint>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_webhook_endpoints(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<ListedShort<WebhookEndpoint>, Error> {
    Ok(ListedShort(webhook_endpoints::list(&app, &account, input.paging().valid()?).await?))
}

/// Get a webhook endpoint.
///
/// Returns the details of a webhook endpoint.
#[utoipa::path(get, path = "/webhook_endpoints/{webhook_endpoint_token}", tag = "Webhook endpoints",
    responses((status = 200, description = "The webhook endpoint", body = Envelope<WebhookEndpoint>)),
    extensions(("x-refusals" = json!([RecordNotFound]))))]
pub async fn get_webhook_endpoint(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<WebhookEndpoint>, Error> {
    Ok(Shown(webhook_endpoints::show(&app, &account, &token).await?))
}

/// Delete a webhook endpoint.
///
/// Deletes the endpoint and all its webhook requests permanently.
#[utoipa::path(delete, path = "/webhook_endpoints/{webhook_endpoint_token}", tag = "Webhook endpoints",
    responses((status = 204, description = "Deleted")), extensions(("x-refusals" = json!([RecordNotFound]))))]
pub async fn delete_webhook_endpoint(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(webhook_endpoints::delete(&app, &request.caller, &token)).await
}
