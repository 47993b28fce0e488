//! Looks up cards and rates at the acquirer before any payment. If the acquirer does not answer, the request fails and
//! nothing has begun (`docs/decisions.md`, 154).

use acquirer::{CardInfo, NoAnswer};
use base::card_number::CardNumber;
use base::request_context;
use entity::{Currency, Rate};

use super::context::Context;
use crate::error::{Error, ErrorCode};
use crate::params::non_blank;

/// Returns the details of a card number, or `None` if the acquirer does not accept it.
///
/// Refusals: `service_unavailable`.
pub async fn card(ctx: &Context, number: &CardNumber) -> Result<Option<CardInfo>, Error> {
    ctx.acquirer.card(number).await.map_err(silent)
}

/// Returns the current AUD rate of a currency, or `None` if the acquirer does not accept it.
///
/// Refusals: `service_unavailable`.
pub async fn rate(ctx: &Context, currency: Currency) -> Result<Option<Rate>, Error> {
    ctx.acquirer.rate(currency).await.map_err(silent)
}

/// Returns the currency of a code, AUD by default, and its rate; `None` if there is no such currency or the acquirer
/// does not accept it.
///
/// Refusals: `service_unavailable`.
pub async fn accepted_currency(ctx: &Context, code: Option<&str>) -> Result<Option<(Currency, Rate)>, Error> {
    let currency = match non_blank(code) {
        None => Some(Currency::Aud),
        Some(code) => Currency::parse(code),
    };
    let Some(currency) = currency else { return Ok(None) };
    Ok(rate(ctx, currency).await?.map(|rate| (currency, rate)))
}

/// Returns the error of an acquirer that did not answer. Nothing has begun, so the client may repeat the request at any
/// time.
fn silent(NoAnswer: NoAnswer) -> Error {
    // Due work asks again by itself, and nobody is refused.
    if request_context::is_of_request() {
        metrics::counter!("card_payments_acquirer_silent_total").increment(1);
    }
    request_context::mark_not_begun();
    ErrorCode::ServiceUnavailable.into()
}
