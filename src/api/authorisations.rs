//! Authorisations (specification, Endpoints, Authorisations).

use axum::extract::State;

use super::answer::{Created, Envelope, Listed, LongList, Shown};
use super::charges::NOT_AUTHORISED;
use super::extract::{Input, Path};
use super::openapi::{PageParameters, declines};
use super::operations::{Operations, routes};
use super::sandbox::SandboxHeaders;
use super::state::AppState;
use super::write_request::PaymentRequest;
use crate::error::Error;
use crate::error::ErrorCode::{self, GatewayError, InvalidResource, NotFound, TokenAlreadyUsed};
use crate::services::authorisations::params::{NewAuthorisation, NewCapture};
use crate::services::authorisations::view::Authorisation;
use crate::services::charges::view::Charge;
use crate::services::{Account, authorisations};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(create_authorisation, list_authorisations))
        .routes(routes!(get_authorisation))
        .routes(routes!(void_authorisation))
        .routes(routes!(capture_authorisation))
}

const UNANSWERED: (ErrorCode, &str) =
    (GatewayError, "the acquirer refused or did not answer; the authorisation shows what has become of it");

/// Create an authorisation.
///
/// Reserves an amount on a card, to be captured as a charge, wholly or in part, within seven days; this may be a
/// long-running request. Exactly one of card, card_token, payment_source_token and customer_token pays. A failed attempt
/// is kept: its error carries authorisation_token.
#[utoipa::path(post, path = "/authorisations", tag = "Authorisations",
    params(("Sandbox-Outcome" = Option<String>, Header, description = "The outcome of this attempt in the test environment: a decline code, `gateway_error`, `no_answer`, `approved_but_lost` or `disputed`; the card decides if it is absent.")),
    request_body(content = NewAuthorisation, example = json!({ "card": {} })),
    responses((status = 201, description = "The authorisation", body = Envelope<Authorisation>)),
    extensions(("x-refusals" = json!([declines(), TokenAlreadyUsed, InvalidResource, (GatewayError, "nothing was reserved")]))))]
pub async fn create_authorisation(
    State(app): State<AppState>,
    sandbox: SandboxHeaders,
    request: PaymentRequest,
) -> Result<Created<Authorisation>, Error> {
    let (app, sandbox) = (&app, &sandbox);
    let service = |caller, input: Input| async move {
        let params = input.params::<NewAuthorisation>();
        authorisations::create(&app.ctx, &caller, params, sandbox.outcome.as_deref()).await
    };
    request.answer(app, service).await
}

/// List authorisations.
///
/// Returns a paginated list of all authorisations, newest first, failed ones included.
#[utoipa::path(get, path = "/authorisations", tag = "Authorisations", params(PageParameters),
    responses((status = 200, description = "A page of authorisations", body = LongList<Authorisation>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_authorisations(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Authorisation>, Error> {
    Ok(Listed(authorisations::list(&app, &account, input.paging().valid()?).await?))
}

/// Get an authorisation.
///
/// Returns the details of an authorisation.
#[utoipa::path(get, path = "/authorisations/{auth_token}", tag = "Authorisations",
    responses((status = 200, description = "The authorisation", body = Envelope<Authorisation>)),
    extensions(("x-refusals" = json!([NotFound]))))]
pub async fn get_authorisation(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Authorisation>, Error> {
    Ok(Shown(authorisations::show(&app, &account, &token).await?))
}

/// Void an authorisation.
///
/// Returns the reserved funds to the cardholder.
#[utoipa::path(put, path = "/authorisations/{auth_token}/void", tag = "Authorisations",
    responses((status = 200, description = "The authorisation", body = Envelope<Authorisation>)),
    extensions(("x-refusals" = json!([NOT_AUTHORISED, NotFound, UNANSWERED]))))]
pub async fn void_authorisation(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: PaymentRequest,
) -> Result<Shown<Authorisation>, Error> {
    let (app, token) = (&app, &token);
    let service = |caller, input: Input| async move {
        // The account may have become strict since the parameters were read.
        input.refuse_unknown()?;
        authorisations::void(&app.ctx, &caller, token).await
    };
    request.answer(app, service).await
}

/// Capture an authorisation.
///
/// Makes one charge of an authorisation, for its whole amount or a part; the rest is released.
#[utoipa::path(post, path = "/authorisations/{auth_token}/charges", tag = "Authorisations",
    request_body(content = NewCapture, example = json!({ "amount": 100 })),
    responses((status = 200, description = "The charge", body = Envelope<Charge>)),
    extensions(("x-rights" = json!({ "charges": "write" })), ("x-refusals" = json!([NOT_AUTHORISED, NotFound, InvalidResource, UNANSWERED]))))]
pub async fn capture_authorisation(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: PaymentRequest,
) -> Result<Shown<Charge>, Error> {
    let (app, token) = (&app, &token);
    let service = |caller, input: Input| async move {
        authorisations::capture(&app.ctx, &caller, token, input.params::<NewCapture>()).await
    };
    request.answer(app, service).await
}
