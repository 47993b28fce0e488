//! POST /authorisations/{auth_token}/charges: captures an authorisation as its one charge.

use entity::Scheme;
use entity::charge;
use serde::Deserialize;

use super::find::by_token;
use crate::error::Error;
use crate::params::Params;
use crate::services::authorisations::params::NewCapture;
use crate::services::charges::view::Charge;
use crate::services::context::{Account, Caller, Context, Ctx};
use crate::services::payments::follow_up::{FollowUp, capture_or_void};
use crate::services::payments::order::SettlementAmounts;
use crate::services::payments::outcome;
use crate::services::payments::state::ChargeAction;

/// Captures an authorisation or a part of it; the rest is released.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`, `bad_authorisation`, `already_captured`,
/// `already_voided`, `authorisation_expired`; then the acquirer's, `gateway_error`.
pub async fn capture(
    ctx: &Ctx,
    caller: &Caller,
    token: &str,
    params: Params<NewCapture>,
) -> Result<Charge, Error> {
    let seen = by_token(ctx, &caller.account, token).await?;
    let amount = amount(&seen, params)?;
    let planned = plan_charge(ctx, &caller.account, seen.clone(), amount)?;
    let follow_up = FollowUp { seen, planned, action: ChargeAction::Capture };
    let (now, row) = capture_or_void(ctx, caller, follow_up).await?;
    Ok(Charge::at(now, outcome::charge_of_capture(&row)?))
}

fn amount(row: &charge::Model, params: Params<NewCapture>) -> Result<i64, Error> {
    let Params { value: NewCapture { amount }, mut faults } = params;
    faults.check_range("amount", amount, &(row.currency.charge_amount_min()..=row.amount));
    if faults.is_empty() { Ok(amount) } else { Err(faults.into()) }
}

/// The card details that pricing needs, as they were authorised; the card's own row may be gone.
#[derive(Deserialize)]
struct PricedCard {
    issuing_country: String,
    scheme: Scheme,
}

/// Returns the row with its planned charge: our fees are on the captured amount.
fn plan_charge(
    ctx: &Context,
    account: &Account,
    mut row: charge::Model,
    amount: i64,
) -> Result<charge::Model, Error> {
    let card: PricedCard = serde_json::from_str(row.card.as_str())?;
    let money = (amount, row.currency, row.rate);
    let settlement = SettlementAmounts::new(account, money, (&card.issuing_country, card.scheme), None)?;
    row.amount_captured = Some(amount);
    row.captured_as = Some(ctx.ids.token());
    row.settlement_amount = settlement.amount;
    row.fees = settlement.fees;
    row.entitlement = settlement.entitlement();
    Ok(row)
}
