//! Opens a session: a charge that waits for its cardholder.

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
use crate::params::non_blank;
use crate::services::cards::{self, CardCredentials};
use crate::services::charges::create_view::{ChargeMade, PendingCharge};
use crate::services::context::{Caller, Context};
use crate::services::payments::creation::record_row;
use crate::services::payments::order::{ChargeIntent, ChargeOrder};
use crate::services::{acquirer_lookup, idempotency};

/// The enrolment of a card: whether its issuer asks the cardholder, and the result if the sandbox decides it.
#[derive(Debug, Clone, Copy)]
pub struct Enrolment {
    pub is_enrolled: bool,
    challenge: Option<SimulatedChallenge>,
}

/// Finds the enrolment of the card that pays: as the sandbox's header has it, else the test card, else the acquirer.
pub async fn enrolment(
    ctx: &Context,
    order: &ChargeOrder,
    ordered: Option<SimulatedChallenge>,
) -> Result<Enrolment, Error> {
    let challenge = ordered.or_else(|| challenge_of_card(ctx, order));
    let is_enrolled = match challenge {
        Some(challenge) => challenge.is_offered(),
        // The page is a simulator, and no acquirer has another one: in live the card is charged as one that is not enrolled.
        None => ctx.environment == Environment::Test && is_enrolled(ctx, order).await?,
    };
    Ok(Enrolment { is_enrolled, challenge })
}

/// Returns the simulated verification of a test card. In live no number is a test card.
fn challenge_of_card(ctx: &Context, order: &ChargeOrder) -> Option<SimulatedChallenge> {
    let in_test = ctx.environment == Environment::Test;
    TestCards::find(order.call.number.expose()).filter(|_| in_test)?.challenge
}

async fn is_enrolled(ctx: &Context, order: &ChargeOrder) -> Result<bool, Error> {
    let Some(number) = CardNumber::parse(&order.call.number) else { return Ok(false) };
    Ok(acquirer_lookup::card(ctx, &number).await?.is_some_and(|card| card.three_d_secure))
}

/// The data with which a session begins.
pub struct Opening<'a> {
    pub callback_url: String,
    pub enrolment: Enrolment,
    /// The value of the `Sandbox-Outcome` header, for the call after the approval.
    pub outcome: Option<&'a str>,
    /// The server's address as clients know it.
    pub base_url: &'a str,
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
pub async fn open(
    ctx: &Context,
    caller: &Caller,
    order: ChargeOrder,
    opening: Opening<'_>,
) -> Result<ChargeMade, Error> {
    let account = &caller.account;
    let Opening { callback_url, enrolment, outcome, base_url } = opening;
    let ChargeOrder { mut intent, call } = order;
    intent.row.origin = Origin::Challenge;
    intent.row.state = ChargeState::Pending;
    intent.row.settle_after = None;
    let credentials = CardCredentials { number: call.number, cvc: call.cvc, network: call.network };
    let copy = cards::copy(ctx, &intent.card, credentials);
    let secret = ctx.random.token22(RandomStream::ChallengePage);
    let session = three_d_secure::Model {
        account_id: account.id(),
        id: SessionToken::new(ctx.random.id(RandomStream::Session)),
        state: SessionState::Open,
        charge_id: intent.row.id,
        card_id: copy.id,
        enrolled: enrolment.is_enrolled,
        callback_url,
        sandbox_outcome: non_blank(outcome).map(str::to_owned),
        challenge: enrolment.challenge,
        expires_at: Some(account.now + SESSION_LIFETIME),
        created_at: account.now,
    };
    let page = challenge_page::Model {
        hash: page_hash(&ctx.vault, &secret).to_vec(),
        account_id: account.id(),
        session_id: session.id,
    };
    let redirect_url = format!("{base_url}/3d-secure/{secret}");
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
