//! Webhooks (specification, Endpoints, Webhooks).

use axum::extract::State;

use super::AppState;
use super::answer::{Envelope, ListedShort, ShortList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::services::{Account, webhooks};
use crate::views::webhook::Webhook;

/// List webhooks.
///
/// Returns a list of all webhook requests, newest first.
#[utoipa::path(get, path = "/webhooks", tag = "Webhooks", operation_id = "list_webhooks",
    params(PageParameters),
    responses((status = 200, description = "A page of webhooks", body = ShortList<Webhook>), (status = 422, description = "invalid_resource")))]
pub async fn list_webhooks(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<ListedShort<Webhook>, Error> {
    Ok(ListedShort(webhooks::list(&site, &account, input.paging().valid()?).await?))
}

/// Get a webhook.
///
/// Returns the details of a webhook request.
#[utoipa::path(get, path = "/webhooks/{webhook_token}", tag = "Webhooks", operation_id = "get_webhook",
    params(("webhook_token" = String, Path, description = "Webhook token")),
    responses((status = 200, description = "The webhook", body = Envelope<Webhook>), (status = 404, description = "resource_not_found")))]
pub async fn get_webhook(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Webhook>, Error> {
    Ok(Shown(webhooks::show(&site, &account, &token).await?))
}

/// Replay a webhook.
///
/// Sends the request again and clears its recorded errors. Returns the webhook in state pending.
#[utoipa::path(put, path = "/webhooks/{webhook_token}/replay", tag = "Webhooks", operation_id = "replay_webhook",
    params(("webhook_token" = String, Path, description = "Webhook token")),
    responses((status = 200, description = "The webhook", body = Envelope<Webhook>),
        (status = 400, description = "cannot_replay_webhook"), (status = 404, description = "resource_not_found")))]
pub async fn replay_webhook(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Webhook>, Error> {
    request.answer(webhooks::replay(&site, &request.caller, &token)).await
}
