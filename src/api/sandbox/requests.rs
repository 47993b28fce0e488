//! The account's log of requests.

use axum::extract::State;
use entity::section::Right;

use crate::api::answer::{Envelope, Listed, LongList, Shown};
use crate::api::awaited_list::await_page;
use crate::api::extract::{Input, Path};
use crate::api::openapi::PageParameters;
use crate::api::rights::everywhere;
use crate::api::state::AppState;
use crate::error::ErrorCode::{InvalidResource, NotFound};
use crate::error::{Error, ErrorCode};
use crate::services::Account;
use crate::services::sandbox::request_params::RequestSearch;
use crate::services::sandbox::request_view::LoggedRequest;
use crate::services::sandbox::requests;

/// List requests.
///
/// Returns a paginated list of the last 1,000 requests with a key of this account, the newest first, with their answers'
/// errors and without their secrets; with filters those that fit all of them. Requests for this list are not in it. With
/// `wait` it answers as soon as `count` requests match, or after that time; `pagination.count` is how many match.
#[utoipa::path(get, path = "/sandbox/requests", tag = "Sandbox",
    params(
        ("method" = Option<String>, Query, description = "The HTTP method of the requests; all methods if it is absent.",
            extensions(("x-enum" = json!(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "_OTHER"])))),
        ("route" = Option<String>, Query, description = "The operation of the requests, such as `/1/charges/{charge_token}`, or `unmatched`; all operations if it is absent."),
        ("status" = Option<i64>, Query, description = "The HTTP status of the responses; all if it is absent.", minimum = 100, maximum = 599),
        ("error" = Option<ErrorCode>, Query, description = "The error code of the responses; all responses if it is absent."),
        ("token" = Option<String>, Query, description = "A token in the path, the shown parameters or the error of the requests; all requests if it is absent."),
        ("since" = Option<String>, Query, description = "The X-Request-Id of a request, after the newest of which the others came; all requests if it is absent."),
        ("count" = Option<i64>, Query, description = "How many records `wait` waits for; 1 if absent.", minimum = 1, maximum = 1000),
        ("wait" = Option<i64>, Query, description = "The seconds to wait for them at most; 0 if absent.", minimum = 0, maximum = 30),
        PageParameters,
    ),
    responses((status = 200, description = "A page of requests", body = LongList<LoggedRequest>)),
    extensions(("x-rights" = json!(everywhere(Right::Read))), ("x-refusals" = json!([InvalidResource]))))]
pub async fn list_sandbox_requests(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<LoggedRequest>, Error> {
    let search = Box::pin(requests::search(&app, &account, RequestSearch::read(&input))).await?;
    // A request that waits holds nothing else.
    let key = account.key_hash();
    drop((account, input));
    Ok(Listed(await_page(&app, key, &search).await?))
}

/// Get a request.
///
/// Returns the request whose answer bore this X-Request-Id; of several the newest.
#[utoipa::path(get, path = "/sandbox/requests/{request_id}", tag = "Sandbox",
    responses((status = 200, description = "The request", body = Envelope<LoggedRequest>)),
    extensions(("x-rights" = json!(everywhere(Right::Read))), ("x-refusals" = json!([NotFound]))))]
pub async fn get_sandbox_request(
    State(app): State<AppState>,
    account: Account,
    Path(request_id): Path<String>,
    _input: Input,
) -> Result<Shown<LoggedRequest>, Error> {
    Ok(Shown(requests::show(&app, &account, &request_id).await?))
}
