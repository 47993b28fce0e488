//! Payment sources (specification, Endpoints, Payment sources).

use axum::extract::State;

use super::AppState;
use super::answer::{CreatedFrom, EnvelopeWithIp};
use super::openapi::BrowserPaymentSource;
use super::write_request::BrowserWriteRequest;
use crate::error::Error;
use crate::params::payment_source::NewPaymentSource;
use crate::services::payment_sources;
use crate::views::payment_source::PaymentSource;

/// Store a payment source.
///
/// Stores a card, a network token or a wallet's encrypted payload in exchange for a payment source token, which pays
/// once and expires after one month unused. Also takes publishable_api_key instead of basic
/// authentication, for use in a browser, and supports JSONP.
#[utoipa::path(post, path = "/payment_sources", tag = "Payment sources", operation_id = "create_payment_source",
    security(("secret_key" = []), ("publishable_key" = [])),
    request_body(content((BrowserPaymentSource = "application/json"), (BrowserPaymentSource = "application/x-www-form-urlencoded"))),
    responses(
        (status = 201, description = "The payment source", body = EnvelopeWithIp<PaymentSource>),
        (status = 422, description = "invalid_resource"),
    ))]
pub async fn create_payment_source(
    State(site): State<AppState>,
    BrowserWriteRequest(request): BrowserWriteRequest,
) -> Result<CreatedFrom<PaymentSource>, Error> {
    let source = NewPaymentSource::read(&request.input)?;
    request.answer(payment_sources::store(&site, &request.caller, source)).await
}
