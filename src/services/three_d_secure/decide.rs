//! Records the cardholder's decision on the session's page. Only the first one counts: later posts are redirected with
//! the same result.

use std::time::Duration;

use acquirer::SimulatedOutcome as Forced;
use base::request_permits::release_permit;
use entity::charge::{self, ChargeState};
use entity::three_d_secure::{self, Column, SessionState, SimulatedChallenge};
use entity::{FailureCode, Owned, Timestamp, challenge_page};
use sea_orm::{ColumnTrait, QueryFilter};
use serde::Deserialize;
use store::Tx;
use tokio::time::{sleep, timeout};
use url::Url;

use super::find;
use super::state::{ChallengeDecision, next};
use crate::error::{Error, ErrorCode};
use crate::limits::{AUTHORISATION_LIFETIME, OUTCOME_POLL_INTERVAL, SETTLE_AFTER};
use crate::services::cards;
use crate::services::context::{Account, Context, Ctx};
use crate::services::due_work::work_time::WorkTime;
use crate::services::payments::creation::{NewPayment, PaymentIntent, PaymentProgress, make_payment};
use crate::services::payments::order::authorise;
use crate::services::payments::outcome::{self, AttemptResult, PaymentOutcome};
use crate::services::payments::purpose::CardPayment;
use crate::services::payments::recovery::single_use;
use crate::services::payments::row::advance;

/// The content of a session's page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChallengeView {
    Question(ChallengeQuestion),
    /// Nothing: the server redirects the cardholder to this address.
    Return(String),
}

/// The payment that the cardholder is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChallengeQuestion {
    /// The merchant's name.
    pub merchant: String,
    /// The amount in the currency's own unit: `AUD 4.00`.
    pub amount: String,
    /// The card's masked number.
    pub card: String,
    /// The decision of the test card's holder, whatever button is pressed; `None` if a person decides.
    pub challenge: Option<SimulatedChallenge>,
}

/// Opens the page of a session. If the card does not offer 3-D Secure, or its issuer asks nothing, opening the page decides.
///
/// Refusals: `not_found`, an expired session included.
pub async fn show(ctx: &Ctx, secret: &str) -> Result<ChallengeView, Error> {
    let (account, session) = find::by_secret(ctx, secret).await?;
    let decision = match session.challenge {
        _ if session.state != SessionState::Open => None,
        _ if !session.enrolled => Some(ChallengeDecision::Unavailable),
        Some(SimulatedChallenge::Frictionless) => Some(ChallengeDecision::Approve),
        Some(_) | None => None,
    };
    match decision {
        Some(decision) => Ok(ChallengeView::Return(decide(ctx, account, session, decision).await?)),
        None => page(ctx, &account, &session).await,
    }
}

/// Presses a button of the page, or sends its form without one. If a test card or the sandbox decides, the button does not
/// count; otherwise a form without a button decides nothing.
///
/// Refusals: `not_found`, an expired session included.
pub async fn press(
    ctx: &Ctx,
    secret: &str,
    pressed: Option<ChallengeDecision>,
) -> Result<ChallengeView, Error> {
    let (account, session) = find::by_secret(ctx, secret).await?;
    let decision = match session.challenge {
        // A page that asks nothing cannot be approved.
        _ if !session.enrolled => Some(ChallengeDecision::Unavailable),
        Some(SimulatedChallenge::Frictionless | SimulatedChallenge::Approved) => {
            Some(ChallengeDecision::Approve)
        }
        Some(SimulatedChallenge::Refused) => Some(ChallengeDecision::Fail),
        // The cardholder goes back without an answer, and may come again.
        Some(SimulatedChallenge::Abandoned) => return Ok(ChallengeView::Return(callback_address(&session)?)),
        Some(SimulatedChallenge::NotOffered | SimulatedChallenge::DirectoryError) | None => pressed,
    };
    match decision {
        Some(decision) => Ok(ChallengeView::Return(decide(ctx, account, session, decision).await?)),
        None => page(ctx, &account, &session).await,
    }
}

/// Returns the page of a session without opening it: decides nothing.
///
/// Refusals: `not_found`, an expired session included.
pub async fn view(ctx: &Ctx, secret: &str) -> Result<ChallengeView, Error> {
    let (account, session) = find::by_secret(ctx, secret).await?;
    page(ctx, &account, &session).await
}

async fn page(ctx: &Ctx, account: &Account, session: &three_d_secure::Model) -> Result<ChallengeView, Error> {
    if session.state != SessionState::Open || !session.enrolled {
        await_outcome(ctx, session, account.now).await?;
        return Ok(ChallengeView::Return(callback_address(session)?));
    }
    let charge = find::charge(ctx, session).await?;
    Ok(ChallengeView::Question(ChallengeQuestion {
        merchant: account.settings().business_name.clone(),
        amount: charge.currency.in_words(charge.amount),
        card: serde_json::from_str::<MaskedCard>(charge.card.as_str())?.display_number,
        challenge: session.challenge,
    }))
}

#[derive(Deserialize)]
struct MaskedCard {
    display_number: String,
}

/// Waits until the acquirer's answer to another request's approval is recorded, unless that request has ended long ago. A browser leaves
/// the first press for the second, and most callbacks verify at once.
async fn await_outcome(ctx: &Context, session: &three_d_secure::Model, now: Timestamp) -> Result<(), Error> {
    if session.state != SessionState::Approved {
        return Ok(());
    }
    let recorded = async {
        let mut pause = OUTCOME_POLL_INTERVAL;
        loop {
            let charge = find::charge(ctx, session).await?;
            let approved_at = charge.expires_at - AUTHORISATION_LIFETIME;
            if charge.state != ChargeState::Processing || now > approved_at + SETTLE_AFTER {
                return Ok(());
            }
            release_permit();
            sleep(pause).await;
            pause = (2 * pause).min(Duration::from_secs(1));
        }
    };
    timeout(2 * ctx.settings.acquirer_timeout, recorded).await.unwrap_or(Ok(()))
}

/// Ends a session if it is still open. Returns the address to redirect the cardholder to, also if another request made
/// the decision. An approval waits for the acquirer.
///
/// Refusals: `not_found`, an expired session included.
async fn decide(
    ctx: &Ctx,
    account: Account,
    session: three_d_secure::Model,
    decision: ChallengeDecision,
) -> Result<String, Error> {
    let (now, mut has_decided) = (account.now, false);
    if session.state == SessionState::Open {
        let task = ctx.clone();
        let session = session.clone();
        let deciding = ctx.in_own_task(async move {
            match decision {
                ChallengeDecision::Approve => approve(&task, account, session).await,
                ChallengeDecision::Fail | ChallengeDecision::Unavailable | ChallengeDecision::Expire => {
                    let time = WorkTime::on_running_clock(account);
                    end_unpaid(&task, &time, session, decision).await
                }
            }
        });
        has_decided = deciding.await?;
    }
    let ended = find::by_id(ctx, session.account_id, session.id).await?;
    let ended = ended.filter(|ended| ended.state != SessionState::Expired).ok_or(ErrorCode::NotFound)?;
    if !has_decided {
        await_outcome(ctx, &ended, now).await?;
    }
    callback_address(&ended)
}

/// Returns the merchant's callback URL with the session's token added to its query.
fn callback_address(session: &three_d_secure::Model) -> Result<String, Error> {
    let mut url = Url::parse(&session.callback_url)
        .map_err(|_| Error::internal("a stored callback_url that is none"))?;
    url.query_pairs_mut().append_pair("session_token", &session.id.to_string());
    Ok(url.into())
}

/// Ends a session without a payment: fails the pending charge and spends its card's token. Returns whether this call
/// ended the session.
pub(super) async fn end_unpaid(
    ctx: &Context,
    time: &WorkTime,
    session: three_d_secure::Model,
    decision: ChallengeDecision,
) -> Result<bool, Error> {
    let Some(to) = next(session.state, decision) else { return Ok(false) };
    let row = find::charge(ctx, &session).await?;
    let token = single_use(ctx, &row).await?;
    let result = AttemptResult::Failed { failure: FailureCode::ThreeDSecureNotCompleted, spent: true };
    let outcome = PaymentOutcome::new(ctx, time, row, token, result);
    let ended = time.write(ctx, (session, to, outcome), async |tx, (session, to, outcome)| {
        if !close_session(tx, session, *to).await? {
            return Ok(None);
        }
        match outcome::record(tx, outcome).await? {
            (_, true) => Ok(Some(())),
            // A snapshot that was restored meanwhile has brought back both, the charge as another attempt: the next try finds it.
            (_, false) => Err(ErrorCode::ServiceUnavailable.into()),
        }
    });
    Ok(ended.await?.is_some())
}

/// Ends the session by compare-and-set, so that only one of several concurrent decisions succeeds. Deletes the copy of
/// the card.
async fn close_session(tx: &Tx, seen: &three_d_secure::Model, to: SessionState) -> Result<bool, Error> {
    let row = three_d_secure::Model { state: to, expires_at: None, ..seen.clone() };
    if !tx.compare_and_swap(seen, &row, &[Column::State]).await? {
        return Ok(false);
    }
    cards::delete_copy(tx, seen.account_id, seen.card_id).await?;
    if to == SessionState::Expired {
        // An expired session's page cannot be opened; the pages of other sessions redirect to the merchant for ever.
        let page = challenge_page::Entity::delete_of(seen.account_id)
            .filter(challenge_page::Column::SessionId.eq(seen.id));
        // In a distributed database its rows lie on another node than the account's, so one statement cannot hold both.
        page.exec(tx).await?;
    }
    Ok(true)
}

/// Pays the pending charge after the cardholder's approval. Verify returns the outcome. Returns whether this call ended the session.
async fn approve(ctx: &Context, account: Account, session: three_d_secure::Model) -> Result<bool, Error> {
    let seen = find::charge(ctx, &session).await?;
    // The copy is gone: another request has decided meanwhile.
    let Some(card) = find::card(ctx, &session).await? else { return Ok(false) };
    let mut call = authorise(&seen, &card, cards::unseal(ctx, &card).await?);
    call.forced = session.sandbox_outcome.as_deref().and_then(Forced::from_sandbox_word);
    let token = single_use(ctx, &seen).await?;
    let intent = ApproveIntent { session, seen, now: account.now, wall: ctx.clock.now() };
    let payment = NewPayment { intent, token, call, purpose: CardPayment, claim: None };
    let progress = make_payment(ctx, &WorkTime::on_running_clock(account), payment).await?;
    Ok(!matches!(progress, PaymentProgress::Skipped))
}

/// Ends the session in the intent of its payment.
struct ApproveIntent {
    session: three_d_secure::Model,
    seen: charge::Model,
    /// By the account's clock.
    now: Timestamp,
    wall: Timestamp,
}

impl PaymentIntent for ApproveIntent {
    async fn record(&self, tx: &Tx) -> Result<Option<charge::Model>, Error> {
        let Some(to) = next(self.session.state, ChallengeDecision::Approve) else { return Ok(None) };
        if !close_session(tx, &self.session, to).await? {
            return Ok(None);
        }
        let mut row = self.seen.clone();
        row.state = ChargeState::Processing;
        row.attempt += 1;
        row.call = row.attempt;
        row.settle_after = Some(self.wall + SETTLE_AFTER);
        // The seven days of the authorisation begin now.
        row.expires_at = self.now + AUTHORISATION_LIFETIME;
        if !advance(tx, &self.seen, &row).await? {
            return Err(Error::internal("a pending charge moved without its session"));
        }
        Ok(Some(row))
    }
}
