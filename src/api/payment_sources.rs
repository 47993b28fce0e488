//! Payment sources (specification, Endpoints, Payment sources).

use axum::extract::State;

use super::answer::{CreatedFrom, EnvelopeWithIp};
use super::openapi::BrowserPaymentSource;
use super::operations::{Operations, routes};
use super::state::AppState;
use super::write_request::BrowserWriteRequest;
use crate::error::Error;
use crate::error::ErrorCode::InvalidResource;
use crate::services::payment_sources;
use crate::services::payment_sources::params::NewPaymentSource;
use crate::services::payment_sources::view::PaymentSource;

/// Returns its operations under /1.
pub fn operations() -> Operations {
    Operations::default().routes(routes!(create_payment_source))
}

/// Store a payment source.
///
/// Stores a card, a network token or a wallet's encrypted payload in exchange for a payment source token, which pays
/// once and expires after one month unused. Also takes the publishable_api_key parameter instead of basic
/// authentication, from an insecure environment such as a browser, and supports JSONP.
#[utoipa::path(post, path = "/payment_sources", tag = "Payment sources",
    security(("secret_key" = []), ("publishable_key" = [])),
    request_body(content = BrowserPaymentSource, example = json!({ "source": {
        "number": "4200000000000000", "expiry_month": 5, "expiry_year": 2030, "cvc": "123", "name": "Roland Robot",
        "address_line1": "42 Sevenoaks St", "address_city": "Lathlain", "address_country": "Australia",
    } })),
    responses((status = 201, description = "The payment source", body = EnvelopeWithIp<PaymentSource>)),
    extensions(("x-refusals" = json!([InvalidResource]))))]
pub async fn create_payment_source(
    State(app): State<AppState>,
    BrowserWriteRequest(request): BrowserWriteRequest,
) -> Result<CreatedFrom<PaymentSource>, Error> {
    // A payload says one thing about all its faults, and these are not the payload's.
    request.input.refuse_unknown()?;
    let source = NewPaymentSource::read(&request.input)?;
    request.answer(payment_sources::store(&app, &request.caller, source)).await
}
