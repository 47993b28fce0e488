//! Domains of walletA.

use axum::extract::State;

use crate::api::answer::{Created, Deleted, Envelope, Listed, LongList, Shown};
use crate::api::extract::{Input, Path};
use crate::api::openapi::PageParameters;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{ApiUnavailable, InvalidResource, NotFound};
use crate::services::Account;
use crate::services::wallets::domains;
use crate::services::wallets::params::NamedDomain;
use crate::services::wallets::view::WalletDomain;

/// Register a domain.
///
/// Registers a domain on whose pages the wallet may be used. Before, the domain must host the wallet provider's
/// verification file at its well-known path.
#[utoipa::path(post, path = "/walletA_pay/domains", tag = "Mobile wallet support", request_body = NamedDomain,
    responses((status = 201, description = "The domain", body = Envelope<WalletDomain>)),
    extensions(("x-refusals" = json!([ApiUnavailable, InvalidResource]))))]
pub async fn create_wallet_domain(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<WalletDomain>, Error> {
    request.answer(domains::register(&app, &request.caller, request.input.params())).await
}

/// List domains.
///
/// Returns a paginated list of all registered domains, newest first.
#[utoipa::path(get, path = "/walletA_pay/domains", tag = "Mobile wallet support", params(PageParameters),
    responses((status = 200, description = "A page of domains", body = LongList<WalletDomain>)),
    extensions(("x-refusals" = json!([ApiUnavailable, InvalidResource]))))]
pub async fn list_wallet_domains(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<WalletDomain>, Error> {
    Ok(Listed(domains::list(&app, &account, input.paging()).await?))
}

/// Delete a domain.
///
/// Takes a domain off the list: on its pages the wallet may not be used any more.
#[utoipa::path(delete, path = "/walletA_pay/domains/{domain_token}", tag = "Mobile wallet support",
    responses((status = 204, description = "Deleted")), extensions(("x-refusals" = json!([ApiUnavailable, NotFound]))))]
pub async fn delete_wallet_domain(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(domains::delete(&app, &request.caller, &token)).await
}

/// Check a host.
///
/// Returns the registered domain of a host's name.
#[utoipa::path(get, path = "/walletA_pay/host_check", tag = "Mobile wallet support",
    params(("domain_name" = String, Query, description = "The fully qualified domain name.", example = "shop.example.com")),
    responses((status = 200, description = "The domain", body = Envelope<WalletDomain>)),
    extensions(("x-refusals" = json!([ApiUnavailable, (NotFound, "it is not registered"), InvalidResource]))))]
pub async fn check_wallet_host(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Shown<WalletDomain>, Error> {
    // A malformed name is an unknown one, and its fault does not count.
    input.refuse_unknown()?;
    Ok(Shown(domains::check(&app, &account, input.params()).await?))
}
