//! Restricted keys of the account, which in live only operators make.

use axum::extract::State;

use crate::api::answer::{Created, Deleted, Envelope, Listed, LongList};
use crate::api::extract::{Input, Path};
use crate::api::openapi::PageParameters;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, LimitReached, NotFound};
use crate::services::Account;
use crate::services::accounts::key_params::{NewApiKey, NewKeySecret};
use crate::services::accounts::key_view::ApiKey;
use crate::services::accounts::restricted_keys;

/// Make a restricted key.
///
/// Makes a secret key that may do only what its rights say, and shows it this once. A restricted key gives no more than it has.
#[utoipa::path(post, path = "/sandbox/keys", tag = "Sandbox", request_body = NewApiKey,
    responses((status = 201, description = "The key", body = Envelope<ApiKey>)),
    extensions(("x-rights" = json!({ "keys": "write" })), ("x-refusals" = json!([InvalidResource, (LimitReached, "", restricted_keys::full())]))))]
pub async fn create_sandbox_key(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<ApiKey>, Error> {
    request.answer(restricted_keys::create(&app, &request.caller, request.input.params())).await
}

/// List restricted keys.
///
/// Returns a paginated list of the restricted keys that work, newest first.
#[utoipa::path(get, path = "/sandbox/keys", tag = "Sandbox", params(PageParameters),
    responses((status = 200, description = "A page of keys", body = LongList<ApiKey>)),
    extensions(("x-rights" = json!({ "keys": "read" })), ("x-refusals" = json!([InvalidResource]))))]
pub async fn list_sandbox_keys(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<ApiKey>, Error> {
    Ok(Listed(restricted_keys::list(&app, &account, input.paging().valid()?).await?))
}

/// Roll a restricted key.
///
/// Makes another key with the same rights, networks and end. The former key works until the grace has passed.
#[utoipa::path(post, path = "/sandbox/keys/{key_token}/roll", tag = "Sandbox",
    request_body(content = Option<NewKeySecret>, example = json!({ "grace": "2d" })),
    responses((status = 201, description = "The new key", body = Envelope<ApiKey>)),
    extensions(("x-rights" = json!({ "keys": "write" })),
        ("x-refusals" = json!([NotFound, InvalidResource, (LimitReached, "", restricted_keys::full())]))))]
pub async fn roll_sandbox_key(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Created<ApiKey>, Error> {
    let grace = request.input.params::<NewKeySecret>().grace();
    request.answer(restricted_keys::roll(&app, &request.caller, &token, grace)).await
}

/// Revoke a restricted key.
///
/// Ends a key at once.
#[utoipa::path(delete, path = "/sandbox/keys/{key_token}", tag = "Sandbox",
    responses((status = 204, description = "Deleted")),
    extensions(("x-rights" = json!({ "keys": "write" })), ("x-refusals" = json!([NotFound]))))]
pub async fn delete_sandbox_key(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(restricted_keys::revoke(&app, &request.caller, &token)).await
}
