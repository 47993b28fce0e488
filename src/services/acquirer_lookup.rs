//! What the acquirer knows before any money is asked for: cards and rates. An acquirer that does not say leaves nothing to
//! do, so nothing is done.

use entity::{Currency, Rate};

use super::context::Context;
use crate::acquirer::{CardInfo, NoAnswer};
use crate::error::{Error, ErrorCode};
use crate::params::non_blank;
use crate::sensitive::card_number::CardNumber;

/// What is known of a card's number; `None` is one that the acquirer does not take.
///
/// Refusals: `service_unavailable`.
pub async fn card(ctx: &Context, number: &CardNumber) -> Result<Option<CardInfo>, Error> {
    ctx.acquirer.card(number).await.map_err(silent)
}

/// What a unit of a currency is worth in AUD now; `None` is one that the acquirer does not take.
///
/// Refusals: `service_unavailable`.
pub async fn rate(ctx: &Context, currency: Currency) -> Result<Option<Rate>, Error> {
    ctx.acquirer.rate(currency).await.map_err(silent)
}

/// The currency of this code, and what it is worth; AUD where none is named. `None` is no currency, or one that the acquirer
/// does not take.
///
/// Refusals: `service_unavailable`.
pub async fn taken(ctx: &Context, code: Option<&str>) -> Result<Option<(Currency, Rate)>, Error> {
    let currency = match non_blank(code) {
        None => Some(Currency::Aud),
        Some(code) => Currency::parse(code),
    };
    let Some(currency) = currency else { return Ok(None) };
    Ok(rate(ctx, currency).await?.map(|rate| (currency, rate)))
}

/// Nothing has begun, so the same request may be made again at any time (decisions 5).
fn silent(NoAnswer: NoAnswer) -> Error {
    metrics::counter!("card_payments_acquirer_silent_total").increment(1);
    ErrorCode::ServiceUnavailable.into()
}
