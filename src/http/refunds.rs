//! Refunds (specification, Endpoints, Refunds).

use axum::extract::State;

use super::AppState;
use super::answer::{Created, Envelope, Listed, LongList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::params::refund::NewRefund;
use crate::services::{Account, refunds};
use crate::views::refund::Refund;

/// Refund a charge.
///
/// Creates a refund of a captured charge, of its full amount or a part of it. The refund is pending at first; its
/// outcome is reported by the events refund.succeeded and refund.failed. It draws on the available balance and the
/// pending money of charges, not on a deposit before its time.
#[utoipa::path(post, path = "/charges/{charge_token}/refunds", tag = "Refunds", operation_id = "create_refund",
    params(("charge_token" = String, Path, description = "Charge token")),
    request_body(content((Option<NewRefund> = "application/json"), (Option<NewRefund> = "application/x-www-form-urlencoded"))),
    responses(
        (status = 201, description = "The refund", body = Envelope<Refund>),
        (status = 402, description = "insufficient_service_balance: an array that holds the one error"),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn create_refund(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Created<Refund>, Error> {
    let params = request.input.params::<NewRefund>();
    request.answer(refunds::create(&site, &request.caller, &token, params)).await
}

/// List a charge's refunds.
///
/// Returns a paginated list of the refunds of a charge, newest first.
#[utoipa::path(get, path = "/charges/{charge_token}/refunds", tag = "Refunds", operation_id = "list_charge_refunds",
    params(("charge_token" = String, Path, description = "Charge token"), PageParameters),
    responses(
        (status = 200, description = "A page of refunds", body = LongList<Refund>),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn list_charge_refunds(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    input: Input,
) -> Result<Listed<Refund>, Error> {
    Ok(Listed(refunds::of_charge(&site, &account, &token, input.paging()).await?))
}

/// List refunds.
///
/// Returns a paginated list of all refunds, newest first.
#[utoipa::path(get, path = "/refunds", tag = "Refunds", operation_id = "list_refunds",
    params(PageParameters),
    responses((status = 200, description = "A page of refunds", body = LongList<Refund>), (status = 422, description = "invalid_resource")))]
pub async fn list_refunds(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Refund>, Error> {
    Ok(Listed(refunds::list(&site, &account, input.paging().valid()?).await?))
}

/// Get a refund.
///
/// Returns the details of a refund.
#[utoipa::path(get, path = "/refunds/{refund_token}", tag = "Refunds", operation_id = "get_refund",
    params(("refund_token" = String, Path, description = "Refund token")),
    responses((status = 200, description = "The refund", body = Envelope<Refund>), (status = 404, description = "not_found")))]
pub async fn get_refund(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Refund>, Error> {
    Ok(Shown(refunds::show(&site, &account, &token).await?))
}
