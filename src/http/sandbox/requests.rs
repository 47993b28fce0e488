//! The account's log of requests.

use axum::extract::State;

use crate::error::Error;
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
#[utoipa::path(get, path = "/sandbox/requests", tag = "Sandbox", operation_id = "list_sandbox_requests",
    params(PageParameters),
    responses((status = 200, description = "A page of requests", body = LongList<LoggedRequest>), (status = 422, description = "invalid_resource")))]
pub async fn list_sandbox_requests(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<LoggedRequest>, Error> {
    Ok(Listed(requests::list(&site, &account, input.paging()).await?))
}

/// Get a request.
///
/// Returns the request with this X-Request-Id in its response; of several the newest.
#[utoipa::path(get, path = "/sandbox/requests/{request_id}", tag = "Sandbox", operation_id = "get_sandbox_request",
    params(("request_id" = String, Path, description = "X-Request-Id")),
    responses((status = 200, description = "The request", body = Envelope<LoggedRequest>), (status = 404, description = "not_found")))]
pub async fn get_sandbox_request(
    State(site): State<AppState>,
    account: Account,
    Path(request_id): Path<String>,
    _input: Input,
) -> Result<Shown<LoggedRequest>, Error> {
    Ok(Shown(requests::show(&site, &account, &request_id).await?))
}
