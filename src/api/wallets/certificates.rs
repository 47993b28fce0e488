//! Certificates of walletA.

use axum::extract::State;

use crate::api::answer::{Created, Deleted, Envelope, Listed, LongList, Shown};
use crate::api::extract::{Input, Path};
use crate::api::openapi::PageParameters;
use crate::api::state::AppState;
use crate::api::write_request::WriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::{ApiUnavailable, InvalidResource, NotFound};
use crate::services::Account;
use crate::services::wallets::certificates;
use crate::services::wallets::params::IssuedCertificate;
use crate::services::wallets::view::WalletCertificate;

/// Create a certificate.
///
/// Makes a key for which the wallet can seal payments, and a signing request to hand to the wallet provider.
#[utoipa::path(post, path = "/walletA_pay/certificates", tag = "Mobile wallet support",
    responses((status = 201, description = "The certificate, incomplete", body = Envelope<WalletCertificate>)),
    extensions(("x-refusals" = json!([ApiUnavailable]))))]
pub async fn create_wallet_certificate(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Created<WalletCertificate>, Error> {
    request.answer(certificates::create(&app, &request.caller)).await
}

/// List certificates.
///
/// Returns a paginated list of all certificates, newest first.
#[utoipa::path(get, path = "/walletA_pay/certificates", tag = "Mobile wallet support", params(PageParameters),
    responses((status = 200, description = "A page of certificates", body = LongList<WalletCertificate>)),
    extensions(("x-refusals" = json!([ApiUnavailable, InvalidResource]))))]
pub async fn list_wallet_certificates(
    State(app): State<AppState>,
    account: Account,
    input: Input,
) -> Result<Listed<WalletCertificate>, Error> {
    Ok(Listed(certificates::list(&app, &account, input.paging()).await?))
}

/// Complete a certificate.
///
/// Takes the payment processing certificate that the wallet provider has issued for a signing request. It must carry the
/// key of an incomplete certificate, and be valid now.
#[utoipa::path(put, path = "/walletA_pay/certificates", tag = "Mobile wallet support",
    request_body(content = IssuedCertificate, example = json!({ "pem": "-----BEGIN CERTIFICATE-----\nMIIB...\n-----END CERTIFICATE-----\n" })),
    responses((status = 200, description = "The certificate, active", body = Envelope<WalletCertificate>)),
    extensions(("x-refusals" = json!([ApiUnavailable, InvalidResource]))))]
pub async fn update_wallet_certificate(
    State(app): State<AppState>,
    request: WriteRequest,
) -> Result<Shown<WalletCertificate>, Error> {
    request.answer(certificates::complete(&app, &request.caller, request.input.params())).await
}

/// Get a certificate.
///
/// Returns the details of a certificate.
#[utoipa::path(get, path = "/walletA_pay/certificates/{certificate_token}", tag = "Mobile wallet support",
    responses((status = 200, description = "The certificate", body = Envelope<WalletCertificate>)),
    extensions(("x-refusals" = json!([ApiUnavailable, NotFound]))))]
pub async fn get_wallet_certificate(
    State(app): State<AppState>,
    account: Account,
    Path(token): Path<String>,
    _input: Input,
) -> Result<Shown<WalletCertificate>, Error> {
    Ok(Shown(certificates::show(&app, &account, &token).await?))
}

/// Delete a certificate.
///
/// Deletes a certificate and its key permanently.
#[utoipa::path(delete, path = "/walletA_pay/certificates/{certificate_token}", tag = "Mobile wallet support",
    responses((status = 204, description = "Deleted")), extensions(("x-refusals" = json!([ApiUnavailable, NotFound]))))]
pub async fn delete_wallet_certificate(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(certificates::delete(&app, &request.caller, &token)).await
}

/// Delete a certificate (short path).
///
/// The same at the other path that clients know.
#[utoipa::path(delete, path = "/walletA_pay/{certificate_token}", tag = "Mobile wallet support",
    responses((status = 204, description = "Deleted")), extensions(("x-refusals" = json!([ApiUnavailable, NotFound]))))]
pub async fn delete_wallet_certificate_as_listed(
    State(app): State<AppState>,
    Path(token): Path<String>,
    request: WriteRequest,
) -> Result<Deleted, Error> {
    request.answer(certificates::delete(&app, &request.caller, &token)).await
}
