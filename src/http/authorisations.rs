//! Authorisations (specification, Endpoints, Authorisations).

use axum::extract::State;

use super::AppState;
use super::answer::{Created, Envelope, Listed, LongList, Shown};
use super::extract::{Input, Path};
use super::openapi::PageParameters;
use super::sandbox::OrderedOutcome;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::params::authorisation::{NewAuthorisation, NewCapture};
use crate::services::{Account, authorisations};
use crate::views::authorisation::Authorisation;
use crate::views::charge::Charge;

/// Create an authorisation.
///
/// Reserves an amount on a card, to be captured as a charge, wholly or in part, within seven days; this may be a
/// long-running request. Exactly one of card, card_token, payment_source_token and customer_token pays. A failed attempt
/// is kept: its error carries authorisation_token.
#[utoipa::path(post, path = "/authorisations", tag = "Authorisations", operation_id = "create_authorisation",
    params(("Sandbox-Outcome" = Option<String>, Header, description = "In the test environment: forces the outcome of this attempt. A decline code, gateway_error, no_answer or approved_but_lost.")),
    request_body(content((NewAuthorisation = "application/json"), (NewAuthorisation = "application/x-www-form-urlencoded"))),
    responses(
        (status = 201, description = "The authorisation", body = Envelope<Authorisation>),
        (status = 400, description = "card_declined, insufficient_funds, invalid_cvv, invalid_card, processing_error, suspected_fraud, expired_card, lost_card, stolen_card, unknown, token_already_used"),
        (status = 422, description = "invalid_resource"),
        (status = 502, description = "gateway_error: nothing was reserved"),
    ))]
pub async fn create_authorisation(
    State(site): State<AppState>,
    outcome: OrderedOutcome,
    request: WriteRequest,
) -> Result<Created<Authorisation>, Error> {
    let params = request.input.params::<NewAuthorisation>();
    request.answer(authorisations::create(&site.ctx, &request.caller, params, outcome.word())).await
}

/// List authorisations.
///
/// Returns a paginated list of all authorisations, newest first, failed ones included.
#[utoipa::path(get, path = "/authorisations", tag = "Authorisations", operation_id = "list_authorisations",
    params(PageParameters),
    responses((status = 200, description = "A page of authorisations", body = LongList<Authorisation>), (status = 422, description = "invalid_resource")))]
pub async fn list_authorisations(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Authorisation>, Error> {
    Ok(Listed(authorisations::list(&site, &account, input.paging().valid()?).await?))
}

/// Get an authorisation.
///
/// Returns the details of an authorisation.
#[utoipa::path(get, path = "/authorisations/{auth_token}", tag = "Authorisations", operation_id = "get_authorisation",
    params(("auth_token" = String, Path, description = "Authorisation token")),
    responses((status = 200, description = "The authorisation", body = Envelope<Authorisation>), (status = 404, description = "not_found")))]
pub async fn get_authorisation(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Authorisation>, Error> {
    Ok(Shown(authorisations::show(&site, &account, &token).await?))
}

/// Void an authorisation.
///
/// Returns the reserved funds to the cardholder.
#[utoipa::path(put, path = "/authorisations/{auth_token}/void", tag = "Authorisations", operation_id = "void_authorisation",
    params(("auth_token" = String, Path, description = "Authorisation token")),
    responses(
        (status = 200, description = "The authorisation", body = Envelope<Authorisation>),
        (status = 400, description = "authorisation_expired, already_voided, already_captured, bad_authorisation"),
        (status = 404, description = "not_found"),
        (status = 502, description = "gateway_error: no answer came from the acquirer; the authorisation shows what has become of it"),
    ))]
pub async fn void_authorisation(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Authorisation>, Error> {
    request.answer(authorisations::void(&site.ctx, &request.caller, &token)).await
}

/// Capture an authorisation.
///
/// Makes one charge of an authorisation, for its whole amount or a part; the rest is released.
#[utoipa::path(post, path = "/authorisations/{auth_token}/charges", tag = "Authorisations", operation_id = "capture_authorisation",
    params(("auth_token" = String, Path, description = "Authorisation token")),
    request_body(content((NewCapture = "application/json"), (NewCapture = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The charge", body = Envelope<Charge>),
        (status = 400, description = "authorisation_expired, already_voided, already_captured, bad_authorisation"),
        (status = 404, description = "not_found"),
        (status = 422, description = "invalid_resource"),
        (status = 502, description = "gateway_error: no answer came from the acquirer; the authorisation shows what has become of it"),
    ))]
pub async fn capture_authorisation(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Charge>, Error> {
    let params = request.input.params::<NewCapture>();
    request.answer(authorisations::capture(&site.ctx, &request.caller, &token, params)).await
}
