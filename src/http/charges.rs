//! Charges (specification, Endpoints, Charges).

use axum::extract::State;

use super::AppState;
use super::answer::{Created, Envelope, Listed, LongList, Shown};
use super::auth::AccountWith;
use super::extract::{Input, Path};
use super::openapi::{PageParameters, SearchParameters};
use super::sandbox::OrderedOutcome;
use super::write_request::WriteRequest;
use crate::error::Error;
use crate::params::charge::{Capture, NewCharge, Verify};
use crate::services::three_d_secure::create::ChargeRequestInfo;
use crate::services::{Account, charges, three_d_secure};
use crate::views::charge::Charge;
use crate::views::three_d_secure::{ChargeMade, VerifiedCharge};

/// Create a charge.
///
/// Creates a charge and returns its details; this may be a long-running request. Exactly one of card, card_token,
/// payment_source_token and customer_token pays. With capture false the amount is authorised only, to be captured
/// within seven days. With three_d_secure the cardholder verifies the payment first, on the page redirect_url; then get
/// the charge with verify. A card that has expired by the account's clock is declined: expired_card.
#[utoipa::path(post, path = "/charges", tag = "Charges", operation_id = "create_charge",
    params(("Sandbox-Outcome" = Option<String>, Header, description = "In the test environment: forces the outcome of this attempt. A decline code, gateway_error, no_answer, approved_but_lost or disputed.")),
    request_body(content((NewCharge = "application/json"), (NewCharge = "application/x-www-form-urlencoded"))),
    responses(
        (status = 201, description = "The charge; with 3-D Secure the pending object", body = Envelope<ChargeMade>),
        (status = 400, description = "card_declined, insufficient_funds, invalid_cvv, invalid_card, processing_error, suspected_fraud, expired_card, lost_card, stolen_card, unknown, token_already_used"),
        (status = 422, description = "invalid_resource"),
        (status = 502, description = "gateway_error: nothing was charged"),
    ))]
pub async fn create_charge(
    State(site): State<AppState>,
    outcome: OrderedOutcome,
    request: WriteRequest,
) -> Result<Created<ChargeMade>, Error> {
    let info = ChargeRequestInfo { outcome: outcome.word(), base_url: &site.info.base_url };
    let service = three_d_secure::create(&site.ctx, &request.caller, request.input.params(), info);
    request.answer(Box::pin(service)).await
}

/// List charges.
///
/// Returns a paginated list of all charges, newest first.
#[utoipa::path(get, path = "/charges", tag = "Charges", operation_id = "list_charges",
    params(PageParameters),
    responses((status = 200, description = "A page of charges", body = LongList<Charge>), (status = 422, description = "invalid_resource")))]
pub async fn list_charges(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Charge>, Error> {
    Ok(Listed(charges::list(&site, &account, input.paging().valid()?).await?))
}

/// Search charges.
///
/// Returns a paginated list of the charges that match the search. The query is a part of description, email,
/// metadata values or cardholder name, or exactly a currency, amount, charge token, card token, refund token or
/// customer token.
#[utoipa::path(get, path = "/charges/search", tag = "Charges", operation_id = "search_charges",
    params(SearchParameters, ("sort" = Option<String>, Query, description = "created_at (default) or amount"), PageParameters),
    responses((status = 200, description = "A page of charges", body = LongList<Charge>), (status = 422, description = "invalid_resource")))]
pub async fn search_charges(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Charge>, Error> {
    let search = input.search(charges::search::SORTS, "created_at")?;
    Ok(Listed(charges::search(&site, &account, search).await?))
}

/// Verify a 3-D Secure session.
///
/// Returns the charge of a 3-D Secure session whose cardholder has approved the payment, without its transfers. A declined
/// charge is returned as well: success is false.
#[utoipa::path(get, path = "/charges/verify", tag = "Charges", operation_id = "verify_charge",
    params(("session_token" = String, Query, description = "From the address at which the cardholder came back")),
    responses(
        (status = 200, description = "The charge", body = Envelope<VerifiedCharge>),
        (status = 403, description = "transaction_forbidden: not approved, or not settled yet"),
        (status = 404, description = "not_found"),
        (status = 422, description = "three_d_secure_unavailable"),
    ))]
pub async fn verify_charge(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Shown<VerifiedCharge>, Error> {
    let params = input.params::<Verify>().value;
    Ok(Shown(three_d_secure::verify(&site, &account, params.session_token.as_deref()).await?))
}

/// Get a charge.
///
/// Returns the details of a charge.
#[utoipa::path(get, path = "/charges/{charge_token}", tag = "Charges", operation_id = "get_charge",
    params(("charge_token" = String, Path, description = "Charge token")),
    responses((status = 200, description = "The charge", body = Envelope<Charge>), (status = 404, description = "not_found")))]
pub async fn get_charge(
    AccountWith(account, charge): AccountWith<charges::ChargeByToken>,
    _input: Input,
) -> Result<Shown<Charge>, Error> {
    Ok(Shown(charges::shown(&account, charge)?))
}

/// Void a charge.
///
/// Voids a previously authorised charge: the reserved funds are returned to the cardholder.
#[utoipa::path(put, path = "/charges/{charge_token}/void", tag = "Charges", operation_id = "void_charge",
    params(("charge_token" = String, Path, description = "Charge token")),
    responses(
        (status = 200, description = "The charge", body = Envelope<Charge>),
        (status = 400, description = "authorisation_expired, already_voided, already_captured, bad_authorisation"),
        (status = 404, description = "not_found"),
        (status = 502, description = "gateway_error: no answer came from the acquirer; the charge shows what has become of it"),
    ))]
pub async fn void_charge(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Charge>, Error> {
    request.answer(charges::void(&site.ctx, &request.caller, &token)).await
}

/// Capture a charge.
///
/// Captures a previously authorised charge, for the full originally authorised amount only.
#[utoipa::path(put, path = "/charges/{charge_token}/capture", tag = "Charges", operation_id = "capture_charge",
    params(("charge_token" = String, Path, description = "Charge token")),
    request_body(content((Option<Capture> = "application/json"), (Option<Capture> = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The charge", body = Envelope<Charge>),
        (status = 400, description = "authorisation_expired, already_voided, already_captured, bad_authorisation, invalid_capture_amount"),
        (status = 404, description = "not_found"),
        (status = 502, description = "gateway_error: no answer came from the acquirer; the charge shows what has become of it"),
    ))]
pub async fn capture_charge(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Shown<Charge>, Error> {
    let params = request.input.params::<Capture>();
    request.answer(charges::capture(&site.ctx, &request.caller, &token, params)).await
}
