//! Domains of walletA.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Created, Deleted, Envelope, Listed, LongList, Shown};
use crate::http::extract::{Input, Path};
use crate::http::openapi::PageParameters;
use crate::http::write_request::WriteRequest;
use crate::params::wallet::NamedDomain;
use crate::services::Account;
use crate::services::wallets::domains;
use crate::views::wallet::WalletDomain;

/// Register a domain.
///
/// Registers a domain on whose pages the wallet may be used. Before, the domain must host the wallet provider's
/// verification file at its well-known path.
#[utoipa::path(post, path = "/walletA_pay/domains", tag = "Mobile wallet support", operation_id = "create_wallet_domain",
    request_body(content((NamedDomain = "application/json"), (NamedDomain = "application/x-www-form-urlencoded"))),
    responses(
        (status = 201, description = "The domain", body = Envelope<WalletDomain>),
        (status = 400, description = "api_unavailable"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn create_wallet_domain(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Created<WalletDomain>, Error> {
    request.answer(domains::register(&site, &request.caller, request.input.params())).await
}

/// List domains.
///
/// Returns a paginated list of all registered domains, newest first.
#[utoipa::path(get, path = "/walletA_pay/domains", tag = "Mobile wallet support", operation_id = "list_wallet_domains",
    params(PageParameters),
    responses(
        (status = 200, description = "A page of domains", body = LongList<WalletDomain>),
        (status = 400, description = "api_unavailable"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn list_wallet_domains(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<WalletDomain>, Error> {
    Ok(Listed(domains::list(&site, &account, input.paging()).await?))
}

/// Delete a domain.
///
/// Deletes a domain: its pages may no longer use the wallet.
#[utoipa::path(delete, path = "/walletA_pay/domains/{domain_token}", tag = "Mobile wallet support", operation_id = "delete_wallet_domain",
    params(("domain_token" = String, Path, description = "Domain token")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 400, description = "api_unavailable"),
        (status = 404, description = "not_found"),
    ))]
pub async fn delete_wallet_domain(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(domains::delete(&site, &request.caller, &token)).await
}

/// Check a host.
///
/// Returns the registered domain of a host's name.
#[utoipa::path(get, path = "/walletA_pay/host_check", tag = "Mobile wallet support", operation_id = "check_wallet_host",
    params(("domain_name" = String, Query, description = "Fully qualified domain name", example = "shop.example.com")),
    responses(
        (status = 200, description = "The domain", body = Envelope<WalletDomain>),
        (status = 400, description = "api_unavailable"),
        (status = 404, description = "not_found: it is not registered"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn check_wallet_host(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Shown<WalletDomain>, Error> {
    Ok(Shown(domains::check(&site, &account, input.params()).await?))
}
