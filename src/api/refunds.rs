//! Refunds (specification, Endpoints, Refunds).

use axum::extract::State;

use super::answer::{Created, Envelope, Listed, LongList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InsufficientServiceBalance, InvalidResource, NotFound};
use crate::services::refunds::params::NewRefund;
use crate::services::refunds::view::Refund;
use crate::services::{Account, refunds};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(create_refund, list_charge_refunds))
        .routes(routes!(list_refunds))
        .routes(routes!(get_refund))
}

/// Refund a charge.
///
/// Creates a refund of a captured charge, of its full amount or a part of it. The refund is pending at first; its
/// outcome is reported by the events refund.succeeded and refund.failed. It draws on what is available and what charges
/// have pending, not on a deposit that has not arrived.
#[utoipa::path(post, path = "/charges/{charge_token}/refunds", tag = "Refunds",
    request_body(content = Option<NewRefund>, example = json!({ "amount": 100 })),
    responses((status = 201, description = "The refund", body = Envelope<Refund>)),
    extensions(("x-refusals" = json!([(InsufficientServiceBalance, "an array that holds the one error", refunds::create::NOT_COVERED), NotFound, InvalidResource]))))]
pub async fn create_refund(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Created<Refund>, Error> {
    let params = request.input.params::<NewRefund>();
    request.answer(refunds::create(&app, &request.caller, &token, params)).await
}

/// List a charge's refunds.
///
/// Returns a paginated list of the refunds of a charge, newest first.
#[utoipa::path(get, path = "/charges/{charge_token}/refunds", tag = "Refunds", params(PageParameters),
    responses((status = 200, description = "A page of refunds", body = LongList<Refund>)),
    extensions(("x-refusals" = json!([NotFound, InvalidResource]))))]
pub async fn list_charge_refunds(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<Listed<Refund>, Error> {
    Ok(Listed(refunds::of_charge(&app, &account, &token, input.paging()).await?))
}

/// List refunds.
///
/// Returns a paginated list of all refunds, newest first.
#[utoipa::path(get, path = "/refunds", tag = "Refunds", params(PageParameters),
    responses((status = 200, description = "A page of refunds", body = LongList<Refund>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_refunds(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Refund>, Error> {
    Ok(Listed(refunds::list(&app, &account, input.paging().valid()?).await?))
}

/// Get a refund.
///
/// Returns the details of a refund.
#[utoipa::path(get, path = "/refunds/{refund_token}", tag = "Refunds",
    responses((status = 200, description = "The refund", body = Envelope<Refund>)),
    extensions(("x-refusals" = json!([NotFound]))))]
pub async fn get_refund(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Refund>, Error> {
    Ok(Shown(refunds::show(&app, &account, &token).await?))
}
