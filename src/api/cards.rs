//! Cards (specification, Endpoints, Cards).

use axum::extract::State;

use super::answer::{CreatedFrom, Envelope, EnvelopeWithIp, Shown};
use super::extract::{Input, Path};
use super::openapi::BrowserCard;
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::BrowserWriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, NotFound};
use crate::services::cards::view::Card;
use crate::services::{Account, cards};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default().routes(routes!(create_card)).routes(routes!(get_card))
}

/// Store a card.
///
/// Stores card details in exchange for a single-use card token, which expires after one month unused. Also takes
/// the publishable_api_key parameter instead of basic authentication, from an insecure environment such as a
/// browser, and supports JSONP.
#[utoipa::path(post, path = "/cards", tag = "Cards", security(("secret_key" = []), ("publishable_key" = [])),
    request_body = BrowserCard,
    responses((status = 201, description = "The card", body = EnvelopeWithIp<Card>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn create_card(
    State(app): State<AppState>,
    BrowserWriteRequest(request): BrowserWriteRequest,
) -> Result<CreatedFrom<Card>, Error> {
    request.answer(cards::store(&app, &request.caller, request.input.params())).await
}

/// Get a card.
///
/// Returns the details of a card. An unused token that has expired is not found.
#[utoipa::path(get, path = "/cards/{card_token}", tag = "Cards",
    responses((status = 200, description = "The card", body = Envelope<Card>)),
    extensions(("x-refusals" = json!([NotFound]))))]
pub async fn get_card(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<Card>, Error> {
    Ok(Shown(cards::show(&app, &account, &token).await?))
}
