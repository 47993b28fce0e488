//! Cards (specification, Endpoints, Cards).

use axum::extract::State;

use super::AppState;
use super::answer::{CreatedFrom, Envelope, EnvelopeWithIp, Shown};
use super::extract::{Input, Path};
use super::openapi::BrowserCard;
use super::write_request::BrowserWriteRequest;
use crate::error::Error;
use crate::services::{Account, cards};
use crate::views::card::Card;

/// Store a card.
///
/// Stores card details in exchange for a single-use card token, which expires after one month unused. Also takes
/// publishable_api_key instead of basic authentication, for use in a browser, and supports JSONP.
#[utoipa::path(post, path = "/cards", tag = "Cards", operation_id = "create_card",
    security(("secret_key" = []), ("publishable_key" = [])),
    request_body(content((BrowserCard = "application/json"), (BrowserCard = "application/x-www-form-urlencoded"))),
    responses(
        (status = 201, description = "The card", body = EnvelopeWithIp<Card>),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn create_card(
    State(site): State<AppState>,
    BrowserWriteRequest(request): BrowserWriteRequest,
) -> Result<CreatedFrom<Card>, Error> {
    request.answer(cards::store(&site, &request.caller, request.input.params())).await
}

/// Get a card.
///
/// Returns the details of a card. An unused token that has expired is not found.
#[utoipa::path(get, path = "/cards/{card_token}", tag = "Cards", operation_id = "get_card",
    params(("card_token" = String, Path, description = "Card token")),
    responses((status = 200, description = "The card", body = Envelope<Card>), (status = 404, description = "not_found")))]
pub async fn get_card(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Card>, Error> {
    Ok(Shown(cards::show(&site, &account, &token).await?))
}
