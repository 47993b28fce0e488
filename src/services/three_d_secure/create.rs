//! POST /charges: makes a charge immediately, or a pending one that waits for its cardholder.

use acquirer::test_cards::TestCards;
use base::card_number::CardNumber;
use base::random::RandomStream;
use entity::charge::{ChargeState, Origin};
use entity::three_d_secure::{self, SessionState, SimulatedChallenge};
use entity::{SessionToken, card, challenge_page};

use super::find::page_hash;
use crate::config::Environment;
use crate::error::Error;
use crate::limits::SESSION_LIFETIME;
use crate::params::values::UNLISTED;
use crate::params::{FieldErrors, Params, non_blank};
use crate::services::cards::{self, CardCredentials};
use crate::services::charges::params::NewCharge;
use crate::services::charges::view::Charge;
use crate::services::context::{Caller, Context, Ctx};
use crate::services::payments::creation::{pay, record_row};
use crate::services::payments::order::{ChargeIntent, ChargeOrder};
use crate::services::payments::parameters::build_order;
use crate::services::three_d_secure::view::{ChargeMade, PendingCharge};
use crate::services::{acquirer_lookup, idempotency};

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
    let challenge = ordered.or_else(|| challenge_of_card(ctx, &order));
    let enrolled = match challenge {
        Some(challenge) => challenge.is_offered(),
        None => is_enrolled(ctx, &order).await?,
    };
    if !enrolled && verification.fallback_ok {
        return charge_without_challenge(ctx, caller, order).await;
    }
    let opening = Opening { callback_url: verification.callback_url, enrolled, challenge };
    open(ctx, caller, order, opening, request).await
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

/// Returns how a test card's verification goes. In live no number is a test card.
fn challenge_of_card(ctx: &Context, order: &ChargeOrder) -> Option<SimulatedChallenge> {
    let in_test = ctx.environment == Environment::Test;
    TestCards::find(order.call.number.expose()).filter(|_| in_test)?.challenge
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

async fn is_enrolled(ctx: &Context, order: &ChargeOrder) -> Result<bool, Error> {
    let Some(number) = CardNumber::parse(&order.call.number) else { return Ok(false) };
    Ok(acquirer_lookup::card(ctx, &number).await?.is_some_and(|card| card.three_d_secure))
}

/// What a session begins with.
struct Opening {
    callback_url: String,
    enrolled: bool,
    challenge: Option<SimulatedChallenge>,
}

/// Records a charge that waits for its cardholder.
struct OpenSessionUnit {
    intent: Box<ChargeIntent>,
    copy: card::Model,
    session: three_d_secure::Model,
    page: challenge_page::Model,
    redirect_url: String,
}

/// Records the pending charge and its session. The acquirer is asked after the cardholder has approved.
async fn open(
    ctx: &Context,
    caller: &Caller,
    order: ChargeOrder,
    opening: Opening,
    request: ChargeRequestInfo<'_>,
) -> Result<ChargeMade, Error> {
    let account = &caller.account;
    let Opening { callback_url, enrolled, challenge } = opening;
    let ChargeOrder { mut intent, call } = order;
    intent.row.origin = Origin::Challenge;
    intent.row.state = ChargeState::Pending;
    intent.row.settle_after = None;
    let digits = CardCredentials { number: call.number, cvc: call.cvc, network: call.network };
    let copy = cards::copy(ctx, &intent.card, digits);
    let secret = ctx.random.token22(RandomStream::ChallengePage);
    let session = three_d_secure::Model {
        account_id: account.id(),
        id: SessionToken::new(ctx.random.id(RandomStream::Session)),
        state: SessionState::Open,
        charge_id: intent.row.id,
        card_id: copy.id,
        enrolled,
        callback_url,
        sandbox_outcome: non_blank(request.outcome).map(str::to_owned),
        challenge,
        expires_at: Some(account.now + SESSION_LIFETIME),
        created_at: account.now,
    };
    let page = challenge_page::Model {
        hash: page_hash(&ctx.vault, &secret).to_vec(),
        account_id: account.id(),
        session_id: session.id,
    };
    let redirect_url = format!("{}/3d-secure/{secret}", request.base_url);
    let opening = OpenSessionUnit { intent, copy, session, page, redirect_url };
    let unit = idempotency::write(ctx, caller, opening, async |tx, opening| {
        record_row(tx, &opening.intent).await?;
        tx.append(&opening.copy);
        tx.append(&opening.session);
        tx.append(&opening.page);
        Ok(ChargeMade::Pending(PendingCharge {
            token: opening.intent.row.id,
            status_message: "Pending",
            redirect_url: opening.redirect_url.clone(),
        }))
    });
    unit.await
}
