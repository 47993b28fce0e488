//! Merchants (specification, Endpoints, Merchants): for keys of accounts that manage an approved partner.

use axum::extract::State;

use super::answer::{Created, Envelope, Listed, LongList, Shown};
use super::auth::Partner;
use super::extract::{Input, Path};
use super::openapi::{PageParameters, SearchParameters};
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::PartnerWriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{InvalidResource, InvalidSearchQueryParam, NotFound};
use crate::services::merchants::params::NewMerchant;
use crate::services::merchants::view::{DefaultSettings, MerchantDetail, MerchantSummary};
use crate::services::merchants::{self, find};

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(create_merchant, list_merchants))
        .routes(routes!(search_merchants))
        .routes(routes!(get_default_settings))
        .routes(routes!(get_merchant))
}

/// Refer a merchant.
///
/// Applies for a merchant on its behalf. It begins as pending_approval, with an account and keys of its own.
#[utoipa::path(post, path = "/merchants", tag = "Merchants",
    request_body(content = NewMerchant, example = json!({ "entity": { "address_country_code": "AU" } })),
    responses((status = 201, description = "The merchant", body = Envelope<MerchantSummary>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn create_merchant(
    State(app): State<AppState>,
    PartnerWriteRequest(request): PartnerWriteRequest,
) -> Result<Created<MerchantSummary>, Error> {
    request.answer(merchants::create(&app, &request.caller, request.input.params())).await
}

/// List merchants.
///
/// Returns a paginated list of the merchants that you have referred, newest first.
#[utoipa::path(get, path = "/merchants", tag = "Merchants", params(PageParameters),
    responses((status = 200, description = "A page of merchants", body = LongList<MerchantSummary>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn list_merchants(
    State(app): State<AppState>,
    Partner(account): Partner,
    input: Input,
) -> Result<Listed<MerchantSummary>, Error> {
    Ok(Listed(merchants::list(&app, &account, input.paging().valid()?).await?))
}

/// Search merchants.
///
/// Returns a paginated list of the merchants that match the search. The query, of at least three characters, is matched
/// against e-mail address, first name, last name and business name as a part of them, and exactly against the token.
#[utoipa::path(get, path = "/merchants/search", tag = "Merchants",
    params(
        SearchParameters,
        ("sort" = Option<String>, Query, description = "The field by which the merchants are ordered; `created_at` if absent.",
            extensions(("x-enum" = json!(find::SORTS)))),
        PageParameters,
    ),
    responses((status = 200, description = "A page of merchants", body = LongList<MerchantSummary>)),
    extensions(("x-refusals" = json!([InvalidSearchQueryParam, InvalidResource]))))]
pub async fn search_merchants(
    State(app): State<AppState>,
    Partner(account): Partner,
    input: Input,
) -> Result<Listed<MerchantSummary>, Error> {
    let search = input.search(find::SORTS, "created_at")?;
    Ok(Listed(merchants::search(&app, &account, search).await?))
}

/// Get the default settings.
///
/// Returns the settings with which newly referred merchants begin.
#[utoipa::path(get, path = "/merchants/default_settings", tag = "Merchants",
    responses((status = 200, description = "The default settings", body = Envelope<DefaultSettings>)))]
pub async fn get_default_settings(_partner: Partner, _input: Input) -> Shown<DefaultSettings> {
    Shown(DefaultSettings::default())
}

/// Get a merchant.
///
/// Returns a merchant that you have referred, with its settings and its keys of both environments.
#[utoipa::path(get, path = "/merchants/{merchant_token}", tag = "Merchants",
    responses((status = 200, description = "The merchant", body = Envelope<MerchantDetail>)),
    extensions(("x-rights" = json!({ "keys": "write" })), ("x-refusals" = json!([NotFound]))))]
pub async fn get_merchant(
    State(app): State<AppState>,
    Partner(account): Partner,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<MerchantDetail>, Error> {
    Ok(Shown(merchants::show(&app, &account, &token).await?))
}
