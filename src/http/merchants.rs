//! Merchants (specification, Endpoints, Merchants): for keys of accounts that manage an approved partner.

use axum::extract::State;

use super::AppState;
use super::answer::{Created, Envelope, Listed, LongList, Shown};
use super::auth::Partner;
use super::extract::{Input, Path};
use super::openapi::{PageParameters, SearchParameters};
use super::write_request::PartnerWriteRequest;
use crate::error::Error;
use crate::params::merchant::NewMerchant;
use crate::services::merchants::{self, find};
use crate::views::merchant::{DefaultSettings, MerchantDetail, MerchantSummary};

/// Refer a merchant.
///
/// Applies for a merchant on its behalf. It begins as pending_approval, with an account and keys of its own.
#[utoipa::path(post, path = "/merchants", tag = "Merchants", operation_id = "create_merchant",
    request_body(content((NewMerchant = "application/json"), (NewMerchant = "application/x-www-form-urlencoded"))),
    responses((status = 201, description = "The merchant", body = Envelope<MerchantSummary>), (status = 422, description = "invalid_resource")))]
pub async fn create_merchant(
    State(site): State<AppState>,
    PartnerWriteRequest(request): PartnerWriteRequest,
) -> Result<Created<MerchantSummary>, Error> {
    request.answer(merchants::create(&site, &request.caller, request.input.params())).await
}

/// List merchants.
///
/// Returns a paginated list of the merchants that you have referred, newest first.
#[utoipa::path(get, path = "/merchants", tag = "Merchants", operation_id = "list_merchants",
    params(PageParameters),
    responses((status = 200, description = "A page of merchants", body = LongList<MerchantSummary>), (status = 422, description = "invalid_resource")))]
pub async fn list_merchants(
    State(site): State<AppState>,
    Partner(account): Partner,
    input: Input,
) -> Result<Listed<MerchantSummary>, Error> {
    Ok(Listed(merchants::list(&site, &account, input.paging().valid()?).await?))
}

/// Search merchants.
///
/// Returns a paginated list of the merchants that match the search. The query has at least three characters:
/// a part of e-mail address, first name, last name or business name, or exactly the token.
#[utoipa::path(get, path = "/merchants/search", tag = "Merchants", operation_id = "search_merchants",
    params(
        SearchParameters,
        ("sort" = Option<String>, Query, description = "created_at (default), email, first_name, last_name or name"),
        PageParameters,
    ),
    responses(
        (status = 200, description = "A page of merchants", body = LongList<MerchantSummary>),
        (status = 400, description = "invalid_search_query_param"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn search_merchants(
    State(site): State<AppState>,
    Partner(account): Partner,
    input: Input,
) -> Result<Listed<MerchantSummary>, Error> {
    let search = input.search(find::SORTS, "created_at")?;
    Ok(Listed(merchants::search(&site, &account, search).await?))
}

/// Get the default settings.
///
/// Returns the initial settings of newly referred merchants.
#[utoipa::path(get, path = "/merchants/default_settings", tag = "Merchants", operation_id = "get_default_settings",
    responses((status = 200, description = "The default settings", body = Envelope<DefaultSettings>)))]
pub async fn get_default_settings(_partner: Partner, _input: Input) -> Shown<DefaultSettings> {
    Shown(DefaultSettings::default())
}

/// Get a merchant.
///
/// Returns a merchant that you have referred, with its settings and its keys of both environments.
#[utoipa::path(get, path = "/merchants/{merchant_token}", tag = "Merchants", operation_id = "get_merchant",
    params(("merchant_token" = String, Path, description = "Merchant token")),
    responses((status = 200, description = "The merchant", body = Envelope<MerchantDetail>), (status = 404, description = "not_found")))]
pub async fn get_merchant(
    State(site): State<AppState>,
    Partner(account): Partner,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<MerchantDetail>, Error> {
    Ok(Shown(merchants::show(&site, &account, &token).await?))
}
