//! POST /charges: makes a charge immediately, or a pending one that waits for its cardholder (`three_d_secure`).

use entity::charge::Origin;
use entity::three_d_secure::SimulatedChallenge;

use crate::error::Error;
use crate::params::values::UNLISTED;
use crate::params::{FieldErrors, Params, non_blank};
use crate::services::charges::create_view::ChargeMade;
use crate::services::charges::order::build_order;
use crate::services::charges::params::NewCharge;
use crate::services::charges::view::Charge;
use crate::services::context::{Caller, Ctx};
use crate::services::payments::creation::pay;
use crate::services::payments::order::ChargeOrder;
use crate::services::three_d_secure::{self, Opening};

/// The parts of a POST /charges request that are not its parameters.
pub struct ChargeRequestInfo<'a> {
    /// The value of the `Sandbox-Outcome` header.
    pub outcome: Option<&'a str>,
    /// The value of the `Sandbox-Challenge` header.
    pub challenge: Option<&'a str>,
    /// The server's address as clients know it.
    pub base_url: &'a str,
}

/// Makes a charge: captures it immediately, authorises it for a later capture, or asks its cardholder first. May take
/// as long as the acquirer.
///
/// Refusals, first match wins: `invalid_resource`, `token_already_used`; then the acquirer's: a decline, or
/// `gateway_error`, which always means that nothing was charged.
pub async fn create(
    ctx: &Ctx,
    caller: &Caller,
    mut params: Params<NewCharge>,
    request: ChargeRequestInfo<'_>,
) -> Result<ChargeMade, Error> {
    let verification = verification(&params.value);
    let ordered = ordered_challenge(&mut params.faults, request.challenge);
    let order = build_order(ctx, &caller.account, Origin::Payment, params, request.outcome).await?;
    let Some(verification) = verification else { return charge_without_challenge(ctx, caller, order).await };
    let enrolment = three_d_secure::enrolment(ctx, &order, ordered).await?;
    if !enrolment.is_enrolled && verification.fallback_ok {
        return charge_without_challenge(ctx, caller, order).await;
    }
    let ChargeRequestInfo { outcome, base_url, .. } = request;
    let opening = Opening { callback_url: verification.callback_url, enrolment, outcome, base_url };
    three_d_secure::open(ctx, caller, order, opening).await
}

/// Returns how the sandbox's header lets the verification go.
fn ordered_challenge(faults: &mut FieldErrors, header: Option<&str>) -> Option<SimulatedChallenge> {
    let word = non_blank(header)?;
    let ordered = SimulatedChallenge::from_code(word);
    if ordered.is_none() {
        faults.add("Sandbox-Challenge", UNLISTED);
    }
    ordered
}

async fn charge_without_challenge(
    ctx: &Ctx,
    caller: &Caller,
    order: ChargeOrder,
) -> Result<ChargeMade, Error> {
    let (now, row) = pay(ctx, caller, order).await?;
    Ok(ChargeMade::Charge(Charge::at(now, row)))
}

/// The parameters of a verification by the cardholder.
struct Verification {
    callback_url: String,
    fallback_ok: bool,
}

/// Returns the verification to make, if any.
fn verification(new_charge: &NewCharge) -> Option<Verification> {
    let requested = new_charge.three_d_secure.as_ref().filter(|requested| requested.is_wanted())?;
    Some(Verification {
        callback_url: non_blank(requested.callback_url.as_deref()).unwrap_or_default().to_owned(),
        fallback_ok: requested.fallback_ok.unwrap_or(false),
    })
}
