//! Webhooks (specification, Endpoints, Webhooks).

use axum::extract::State;
use entity::event::EventType;

use super::answer::{Envelope, ListedShort, ShortList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{CannotReplayWebhook, InvalidResource, RecordNotFound};
use crate::services::webhooks::params::WebhookSearch;
use crate::services::webhooks::view::Webhook;
use crate::services::{Account, webhooks};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(list_webhooks))
        .routes(routes!(get_webhook))
        .routes(routes!(replay_webhook))
}

/// List webhooks.
///
/// Returns a list of all webhook requests, newest first. The filter is an extension.
#[utoipa::path(get, path = "/webhooks", tag = "Webhooks",
    params(
        ("type" = Option<EventType>, Query, description = "The type of the webhooks' events; all types if it is absent."),
        PageParameters,
    ),
    responses((status = 200, description = "A page of webhooks", body = ShortList<Webhook>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_webhooks(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<ListedShort<Webhook>, Error> {
    Ok(ListedShort(webhooks::list(&app, &account, WebhookSearch::read(&input).valid()?).await?))
}

/// Get a webhook.
///
/// Returns the details of a webhook request.
#[utoipa::path(get, path = "/webhooks/{webhook_token}", tag = "Webhooks",
    responses((status = 200, description = "The webhook", body = Envelope<Webhook>)),
    extensions(("x-refusals" = json!([RecordNotFound]))))]
pub async fn get_webhook(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Webhook>, Error> {
    Ok(Shown(webhooks::show(&app, &account, &token).await?))
}

/// Replay a webhook.
///
/// Requests the URL again and forgets the errors recorded before. Returns the webhook in state pending.
#[utoipa::path(put, path = "/webhooks/{webhook_token}/replay", tag = "Webhooks",
    responses((status = 200, description = "The webhook", body = Envelope<Webhook>)),
    extensions(("x-refusals" = json!([CannotReplayWebhook, RecordNotFound]))))]
pub async fn replay_webhook(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Webhook>, Error> {
    request.answer(webhooks::replay(&app, &request.caller, &token)).await
}
