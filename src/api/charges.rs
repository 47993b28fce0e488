//! Charges (specification, Endpoints, Charges).

use axum::extract::State;

use super::answer::{Created, Envelope, Listed, LongList, Shown};
use super::auth::AccountAndRecord;
use super::extract::{Input, Path};
use super::openapi::{PageParameters, SearchParameters, declines};
use super::operations::{Operations, routes};
use super::sandbox::SandboxHeaders;
use super::state::AppState;
use super::write_request::PaymentRequest;
use crate::error::Error;
use crate::error::ErrorCode::{
    self, AlreadyCaptured, AlreadyVoided, AuthorisationExpired, BadAuthorisation, GatewayError,
    InvalidCaptureAmount, InvalidResource, NotFound, ThreeDSecureUnavailable, TokenAlreadyUsed,
    TransactionForbidden,
};
use crate::services::charges::ChargeRequestInfo;
use crate::services::charges::create_view::ChargeMade;
use crate::services::charges::params::{Capture, NewCharge, Verify};
use crate::services::charges::view::Charge;
use crate::services::three_d_secure::view::VerifiedCharge;
use crate::services::{Account, charges, three_d_secure};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(create_charge, list_charges))
        .routes(routes!(search_charges))
        .routes(routes!(verify_charge))
        .routes(routes!(get_charge))
        .routes(routes!(void_charge))
        .routes(routes!(capture_charge))
}

/// The refusals of a capture or void of a payment that is not, or no longer, only authorised.
pub(super) const NOT_AUTHORISED: [ErrorCode; 4] =
    [AuthorisationExpired, AlreadyVoided, AlreadyCaptured, BadAuthorisation];
const UNANSWERED: (ErrorCode, &str) =
    (GatewayError, "the acquirer refused or did not answer; the charge shows what has become of it");

/// Create a charge.
///
/// Creates a charge and returns its details; this may be a long-running request. Exactly one of card, card_token,
/// payment_source_token and customer_token pays. With capture false the amount is authorised only, to be captured
/// within seven days. With three_d_secure the cardholder is asked first, on the page redirect_url; the charge is then
/// fetched with verify. A card that has expired by the account's clock is declined: expired_card.
#[utoipa::path(post, path = "/charges", tag = "Charges",
    params(
        ("Sandbox-Outcome" = Option<String>, Header, description = "The outcome of this attempt in the test environment: a decline code, `gateway_error`, `no_answer`, `approved_but_lost` or `disputed`; the card decides if it is absent."),
        ("Sandbox-Challenge" = Option<String>, Header, description = "How the verification with 3-D Secure goes in the test environment: `frictionless`, `challenge_approved`, `challenge_refused`, `challenge_abandoned`, `not_offered` or `directory_error`; the card or a person decides if it is absent."),
    ),
    request_body(content = NewCharge, example = json!({ "card": {}, "metadata": { "order": "1001" } })),
    responses((status = 201, description = "The charge; with 3-D Secure its token, and where to send the cardholder", body = Envelope<ChargeMade>)),
    extensions(("x-refusals" = json!([declines(), TokenAlreadyUsed, InvalidResource, (GatewayError, "nothing was charged")]))))]
pub async fn create_charge(
    State(app): State<AppState>,
    sandbox: SandboxHeaders,
    request: PaymentRequest,
) -> Result<Created<ChargeMade>, Error> {
    let (app, sandbox) = (&app, &sandbox);
    let service = |caller, input: Input| {
        Box::pin(async move {
            let info = ChargeRequestInfo {
                outcome: sandbox.outcome.as_deref(),
                challenge: sandbox.challenge.as_deref(),
                base_url: &app.info.base_url,
            };
            charges::create(&app.ctx, &caller, input.params(), info).await
        })
    };
    request.answer(app, service).await
}

/// List charges.
///
/// Returns a paginated list of all charges, newest first.
#[utoipa::path(get, path = "/charges", tag = "Charges", params(PageParameters),
    responses((status = 200, description = "A page of charges", body = LongList<Charge>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_charges(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Charge>, Error> {
    Ok(Listed(charges::list(&app, &account, input.paging().valid()?).await?))
}

/// Search charges.
///
/// Returns a paginated list of the charges that match the search. The query is matched against description, email,
/// metadata values and cardholder name as a part of them, and exactly against currency, amount, charge token, card
/// token, refund token and customer token.
#[utoipa::path(get, path = "/charges/search", tag = "Charges",
    params(
        SearchParameters,
        ("sort" = Option<String>, Query, description = "The field by which the charges are ordered; `created_at` if absent.",
            extensions(("x-enum" = json!(charges::search::SORTS)))),
        PageParameters,
    ),
    responses((status = 200, description = "A page of charges", body = LongList<Charge>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn search_charges(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<Charge>, Error> {
    let search = input.search(charges::search::SORTS, "created_at")?;
    Ok(Listed(charges::search(&app, &account, search).await?))
}

/// Verify a 3-D Secure session.
///
/// Returns the charge of a 3-D Secure session whose cardholder has approved the payment, without its transfers. A declined
/// charge is returned as well: success is false.
#[utoipa::path(get, path = "/charges/verify", tag = "Charges",
    params(("session_token" = String, Query, description = "The token of the session, from the query of the URL to which the cardholder returned.")),
    responses((status = 200, description = "The charge", body = Envelope<VerifiedCharge>)),
    extensions(("x-refusals" = json!([
        (TransactionForbidden, "not approved, or not settled yet", TransactionForbidden.description()), NotFound, ThreeDSecureUnavailable,
    ]))))]
pub async fn verify_charge(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Shown<VerifiedCharge>, Error> {
    input.refuse_unknown()?;
    let params = input.params::<Verify>().value;
    Ok(Shown(three_d_secure::verify(&app, &account, params.session_token.as_deref()).await?))
}

/// Get a charge.
///
/// Returns the details of a charge.
#[utoipa::path(get, path = "/charges/{charge_token}", tag = "Charges",
    responses((status = 200, description = "The charge", body = Envelope<Charge>)),
    extensions(("x-refusals" = json!([NotFound]))))]
pub async fn get_charge(
    AccountAndRecord(account, charge): AccountAndRecord<charges::ChargeByToken>,
    _input: Input,
) -> Result<Shown<Charge>, Error> {
    Ok(Shown(charges::shown(&account, charge)?))
}

/// Void a charge.
///
/// Voids a previously authorised charge: the reserved funds are returned to the cardholder.
#[utoipa::path(put, path = "/charges/{charge_token}/void", tag = "Charges",
    responses((status = 200, description = "The charge", body = Envelope<Charge>)),
    extensions(("x-refusals" = json!([NOT_AUTHORISED, NotFound, UNANSWERED]))))]
pub async fn void_charge(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: PaymentRequest,
) -> Result<Shown<Charge>, Error> {
    let (app, token) = (&app, &token);
    let service = |caller, input: Input| async move {
        // The account may have become strict since the parameters were read.
        input.refuse_unknown()?;
        charges::void(&app.ctx, &caller, token).await
    };
    request.answer(app, service).await
}

/// Capture a charge.
///
/// Captures a previously authorised charge, for the full originally authorised amount only.
#[utoipa::path(put, path = "/charges/{charge_token}/capture", tag = "Charges", request_body = Option<Capture>,
    responses((status = 200, description = "The charge", body = Envelope<Charge>)),
    extensions(("x-refusals" = json!([NOT_AUTHORISED, InvalidCaptureAmount, NotFound, UNANSWERED]))))]
pub async fn capture_charge(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: PaymentRequest,
) -> Result<Shown<Charge>, Error> {
    let (app, token) = (&app, &token);
    let service = |caller, input: Input| async move {
        input.refuse_unknown()?;
        charges::capture(&app.ctx, &caller, token, input.params::<Capture>()).await
    };
    request.answer(app, service).await
}
