//! The account's log of requests.

use axum::extract::State;

use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, NotFound};
use crate::http::AppState;
use crate::http::answer::{Envelope, Listed, LongList, Shown};
use crate::http::extract::{Input, Path};
use crate::http::openapi::PageParameters;
use crate::services::Account;
use crate::services::sandbox::requests;
use crate::views::logged_request::LoggedRequest;

/// List requests.
///
/// Returns a paginated list of the last 1,000 requests with a key of this account, the newest first, with their answers'
/// errors and without their secrets. Requests for this list are not in it.
#[utoipa::path(get, path = "/sandbox/requests", tag = "Sandbox", params(PageParameters),
    responses((status = 200, description = "A page of requests", body = LongList<LoggedRequest>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_sandbox_requests(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<LoggedRequest>, Error> {
    Ok(Listed(requests::list(&app, &account, input.paging()).await?))
}

/// Get a request.
///
/// Returns the request whose answer bore this X-Request-Id; of several the newest.
#[utoipa::path(get, path = "/sandbox/requests/{request_id}", tag = "Sandbox",
    responses((status = 200, description = "The request", body = Envelope<LoggedRequest>)),
    extensions(("x-refusals" = json!([NotFound]))))]
pub async fn get_sandbox_request(
    State(app): State<AppState>,
    account: Account,
    Path(request_id): Path<String>,
    _input: Input,
) -> Result<Shown<LoggedRequest>, Error> {
    Ok(Shown(requests::show(&app, &account, &request_id).await?))
}
