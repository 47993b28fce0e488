//! Certificates of walletA.

use axum::extract::State;

use crate::error::Error;
use crate::http::AppState;
use crate::http::answer::{Created, Deleted, Envelope, Listed, LongList, Shown};
use crate::http::extract::{Input, Path};
use crate::http::openapi::PageParameters;
use crate::http::write_request::WriteRequest;
use crate::params::wallet::IssuedCertificate;
use crate::services::Account;
use crate::services::wallets::certificates;
use crate::views::wallet::WalletCertificate;

/// Create a certificate.
///
/// Makes a key for which the wallet can seal payments, and a signing request to hand to the wallet provider.
#[utoipa::path(post, path = "/walletA_pay/certificates", tag = "Mobile wallet support", operation_id = "create_wallet_certificate",
    responses(
        (status = 201, description = "The certificate, incomplete", body = Envelope<WalletCertificate>),
        (status = 400, description = "api_unavailable"),
    ))]
pub async fn create_wallet_certificate(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Created<WalletCertificate>, Error> {
    request.answer(certificates::create(&site, &request.caller)).await
}

/// List certificates.
///
/// Returns a paginated list of all certificates, newest first.
#[utoipa::path(get, path = "/walletA_pay/certificates", tag = "Mobile wallet support", operation_id = "list_wallet_certificates",
    params(PageParameters),
    responses(
        (status = 200, description = "A page of certificates", body = LongList<WalletCertificate>),
        (status = 400, description = "api_unavailable"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn list_wallet_certificates(
    State(site): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<WalletCertificate>, Error> {
    Ok(Listed(certificates::list(&site, &account, input.paging()).await?))
}

/// Complete a certificate.
///
/// Takes the payment processing certificate that the wallet provider has issued for a signing request. It must carry the
/// key of an incomplete certificate, and be valid now.
#[utoipa::path(put, path = "/walletA_pay/certificates", tag = "Mobile wallet support", operation_id = "update_wallet_certificate",
    request_body(content((IssuedCertificate = "application/json"), (IssuedCertificate = "application/x-www-form-urlencoded"))),
    responses(
        (status = 200, description = "The certificate, active", body = Envelope<WalletCertificate>),
        (status = 400, description = "api_unavailable"),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn update_wallet_certificate(
    State(site): State<AppState>,
    request: WriteRequest,
) -> Result<Shown<WalletCertificate>, Error> {
    request.answer(certificates::complete(&site, &request.caller, request.input.params())).await
}

/// Get a certificate.
///
/// Returns the details of a certificate.
#[utoipa::path(get, path = "/walletA_pay/certificates/{certificate_token}", tag = "Mobile wallet support", operation_id = "get_wallet_certificate",
    params(("certificate_token" = String, Path, description = "Certificate token")),
    responses(
        (status = 200, description = "The certificate", body = Envelope<WalletCertificate>),
        (status = 400, description = "api_unavailable"),
        (status = 404, description = "not_found"),
    ))]
pub async fn get_wallet_certificate(
    State(site): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<WalletCertificate>, Error> {
    Ok(Shown(certificates::show(&site, &account, &token).await?))
}

/// Delete a certificate.
///
/// Deletes a certificate and its key permanently.
#[utoipa::path(delete, path = "/walletA_pay/certificates/{certificate_token}", tag = "Mobile wallet support", operation_id = "delete_wallet_certificate",
    params(("certificate_token" = String, Path, description = "Certificate token")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 400, description = "api_unavailable"),
        (status = 404, description = "not_found"),
    ))]
pub async fn delete_wallet_certificate(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(certificates::delete(&site, &request.caller, &token)).await
}

/// Delete a certificate (short path).
///
/// The same at the other path that clients know.
#[utoipa::path(delete, path = "/walletA_pay/{certificate_token}", tag = "Mobile wallet support", operation_id = "delete_wallet_certificate_as_listed",
    params(("certificate_token" = String, Path, description = "Certificate token")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 400, description = "api_unavailable"),
        (status = 404, description = "not_found"),
    ))]
pub async fn delete_wallet_certificate_as_listed(
    State(site): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(certificates::delete(&site, &request.caller, &token)).await
}
