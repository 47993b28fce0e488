//! The third step: the holder of the attempt records the outcome of a call, with its postings and event, in one commit.
//! The loser of a race answers from the stored row (`docs/decisions.md`, 136).

use std::sync::Arc;

use entity::charge::{self, ChargeState, Column, Origin};
use entity::counter::Counted;
use entity::event::EventType;
use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::{AuthorisationToken, FailureCode, Owned, TimeSpan, Timestamp, foretold_dispute};
use futures::FutureExt;
use sea_orm::sea_query::{Expr, SimpleExpr};
use sea_orm::{ActiveEnum, ColumnTrait, EntityTrait, QueryFilter, UpdateMany};

use super::call::call_name;
use super::state::ChargeTransition;
use crate::error::{Error, ErrorCode};
use crate::response::{ApiResponse, ResponseKind};
use crate::runtime::crash_points;
use crate::services::accounts::wipe::deleted;
use crate::services::context::{Account, Context};
use crate::services::disputes::arrival;
use crate::services::ledger::{self, Entry};
use crate::services::payer::TokenUse;
use crate::services::{cards, events, idempotency};
use crate::store::{Tx, WordTable};
use crate::vault::Vault;
use crate::views::payment::Payment;

/// The result of a call.
#[derive(Debug, Clone)]
pub enum AttemptResult {
    /// The card was accepted: captured, or only authorised, as requested.
    Approved {
        /// The acquirer's reference of the transaction.
        reference: String,
    },
    /// The attempt failed; `spent` says whether the card's token is spent.
    Failed {
        /// The reason.
        failure: FailureCode,
        /// A decline spends a single-use token; if nothing was charged, the token is free again.
        spent: bool,
    },
    /// A capture or void succeeded.
    Moved(ChargeTransition),
    /// A capture or void definitely failed: the charge is authorised again.
    Back,
}

impl AttemptResult {
    /// Returns the event that the result causes; `capture` says whether the attempt was to capture at once.
    pub(super) fn emits(&self, capture: bool) -> Option<EventType> {
        match self {
            Self::Approved { .. } if capture => Some(EventType::ChargeCaptured),
            Self::Approved { .. } => Some(EventType::ChargeAuthorised),
            Self::Failed { .. } => Some(EventType::ChargeFailed),
            Self::Moved(step) => Some(step.emits),
            Self::Back => None,
        }
    }
}

/// The unit of work that records the result of the attempt in `row`.
pub(in crate::services) struct RecordOutcomeUnit {
    row: charge::Model,
    token: TokenUse,
    verdict: AttemptResult,
    /// By the account's clock.
    now: Timestamp,
    settlement_delay_days: i32,
    /// Whether the simulated cardholder disputes the charge once it is captured.
    disputed: bool,
    vault: Arc<Vault>,
}

impl RecordOutcomeUnit {
    /// Makes the unit for an instant of the account's clock. `token` says how the card's token is used.
    pub fn new(
        ctx: &Context,
        account: &Account,
        now: Timestamp,
        row: charge::Model,
        token: TokenUse,
        verdict: AttemptResult,
    ) -> Self {
        let settlement_delay_days = account.settings().settlement_delay_days;
        let disputed = is_disputed(ctx, &row, &verdict);
        Self { row, token, verdict, now, settlement_delay_days, disputed, vault: Arc::clone(&ctx.vault) }
    }
}

fn is_disputed(ctx: &Context, row: &charge::Model, verdict: &AttemptResult) -> bool {
    let reference = match verdict {
        AttemptResult::Approved { reference } => Some(reference),
        AttemptResult::Moved(_) | AttemptResult::Back | AttemptResult::Failed { .. } => {
            row.acquirer_reference.as_ref()
        }
    };
    reference.is_some_and(|reference| ctx.acquirer.is_disputed_once_captured(reference))
}

/// Records the result of the call in flight of `row`, and the use of its card's token. Returns the stored row, which
/// another worker may have written, and the time of the outcome.
pub(in crate::services) async fn write(
    ctx: &Context,
    account: &Account,
    row: charge::Model,
    token: TokenUse,
    verdict: AttemptResult,
) -> Result<(Timestamp, charge::Model), Error> {
    let now = account.now_by(ctx.clock.now());
    let disputed = is_disputed(ctx, &row, &verdict);
    let row = write_at(ctx, account, now, row, token, verdict).await?;
    if disputed && row.state == ChargeState::Captured {
        arrival::open_scheduled_dispute(ctx, account, row.id).await;
    }
    Ok((now, row))
}

/// Records the same at a given instant of the account's clock.
pub(super) async fn write_at(
    ctx: &Context,
    account: &Account,
    now: Timestamp,
    row: charge::Model,
    token: TokenUse,
    verdict: AttemptResult,
) -> Result<charge::Model, Error> {
    let outcome = RecordOutcomeUnit::new(ctx, account, now, row, token, verdict);
    let (name, disputed) = (call_name(outcome.row.state), outcome.disputed);
    let (row, _) = ctx.store.write(outcome, |tx, outcome| record(tx, outcome).boxed()).await?;
    crash_points::point(name, "outcome.after");
    if disputed {
        ctx.due_now.notify_waiters();
    }
    Ok(row)
}

/// Records the outcome as a part of its caller's unit. Returns the stored row, and whether this unit wrote it: if not,
/// another worker has taken the attempt over, and this unit writes nothing.
pub(in crate::services) async fn record(
    tx: &Tx,
    outcome: &RecordOutcomeUnit,
) -> Result<(charge::Model, bool), Error> {
    let row = after(outcome);
    if !moved(tx, &outcome.row, &row).await? {
        return Ok((found(tx, &outcome.row).await?, false));
    }
    if let TokenUse::Single(card) = outcome.token {
        match outcome.verdict {
            AttemptResult::Approved { .. } | AttemptResult::Failed { spent: true, .. } => {
                cards::consume(tx, row.account_id, card).await?;
            }
            AttemptResult::Failed { spent: false, .. } => {
                cards::release(tx, row.account_id, card).await?;
            }
            AttemptResult::Moved(_) | AttemptResult::Back => {}
        }
    }
    let told = shown_charge(tx, &row)?;
    if told.state == ChargeState::Captured {
        book(tx, outcome, &told);
        schedule_dispute(tx, outcome, &told);
    }
    if told.listed() && !outcome.row.listed() {
        tx.count(told.account_id, Counted::Charges, 1);
        tx.words(WordTable::Charges, told.account_id, told.id.id(), &told.search_text);
    }
    if row.is_authorisation() && outcome.row.state == ChargeState::Processing {
        tx.count(row.account_id, Counted::Authorisations, 1);
    }
    let shown = Payment::at(outcome.now, told);
    if let Some(event) = outcome.verdict.emits(row.capture) {
        events::record(tx, row.account_id, outcome.now, event, &shown)?;
    }
    // A subscription's client is shown the subscription, not its charge.
    let is_another_answer =
        row.origin == Origin::Subscription && matches!(outcome.verdict, AttemptResult::Approved { .. });
    if let Some(hash) = row.claim.as_ref().filter(|_| !is_another_answer) {
        match kept_answer(&outcome.verdict, &row, &shown)? {
            Some(answer) => idempotency::store_response(tx, &outcome.vault, row.account_id, hash, &answer),
            None => idempotency::release_key(tx, row.account_id, hash).await?,
        }
    }
    crash_points::point(call_name(outcome.row.state), "outcome.before");
    Ok((row, true))
}

/// Returns the charge that event and responses show: for a captured authorisation, the charge that begins with this
/// commit.
fn shown_charge(tx: &Tx, row: &charge::Model) -> Result<charge::Model, Error> {
    if !row.is_authorisation() || row.state != ChargeState::Captured {
        return Ok(row.clone());
    }
    let charge = captured(row)?;
    tx.append(&charge);
    Ok(charge)
}

/// Returns the new charge of a captured authorisation.
pub(in crate::services) fn captured(row: &charge::Model) -> Result<charge::Model, Error> {
    let (Some(id), Some(amount), Some(now)) = (row.captured_as, row.amount_captured, row.captured_at) else {
        return Err(Error::internal("a captured authorisation that was not planned"));
    };
    Ok(charge::Model {
        id,
        origin: Origin::Capture,
        claim: None,
        amount,
        authorisation_id: Some(AuthorisationToken::new(row.id.id())),
        amount_captured: None,
        captured_as: None,
        created_at: now,
        ..row.clone()
    })
}

/// Returns the response for repeated requests, whichever worker learnt the outcome. `None` if nothing happened, so
/// that the client may try again (`docs/decisions.md`, 67).
fn kept_answer(
    verdict: &AttemptResult,
    row: &charge::Model,
    shown: &Payment,
) -> Result<Option<ApiResponse>, Error> {
    Ok(match verdict {
        AttemptResult::Approved { .. } => Some(ResponseKind::Created.finish(shown)?),
        AttemptResult::Moved(_) => Some(ResponseKind::Shown.finish(shown)?),
        AttemptResult::Failed { failure, spent: true } => {
            Some(ApiResponse::refusal(&Error::from(ErrorCode::from(*failure)).about(row), "")?)
        }
        AttemptResult::Failed { spent: false, .. } | AttemptResult::Back => None,
    })
}

/// Returns the row with the result applied.
fn after(outcome: &RecordOutcomeUnit) -> charge::Model {
    let mut row = outcome.row.clone();
    row.settle_after = None;
    match &outcome.verdict {
        AttemptResult::Approved { reference } => {
            row.state = if row.capture { ChargeState::Captured } else { ChargeState::Authorised };
            row.acquirer_reference = Some(reference.clone());
        }
        AttemptResult::Failed { failure, .. } => {
            row.state = ChargeState::Failed;
            row.failure = Some(*failure);
        }
        AttemptResult::Moved(step) => row.state = step.to,
        AttemptResult::Back => row.state = ChargeState::Authorised,
    }
    match row.state {
        ChargeState::Captured => row.captured_at = Some(outcome.now),
        ChargeState::Voided => row.voided_at = Some(outcome.now),
        ChargeState::Pending
        | ChargeState::Processing
        | ChargeState::Authorised
        | ChargeState::Capturing
        | ChargeState::Voiding
        | ChargeState::Failed => {}
    }
    row
}

/// Writes the outcome by compare-and-set on state and attempt: a late first attempt loses against its successor.
async fn moved(tx: &Tx, seen: &charge::Model, row: &charge::Model) -> Result<bool, Error> {
    let update = compare_with_seen(seen)
        .col_expr(Column::State, word(row.state))
        .col_expr(Column::SettleAfter, Expr::value(row.settle_after.map(Timestamp::millis)))
        .col_expr(Column::Failure, Expr::value(row.failure.map(ActiveEnum::into_value)))
        .col_expr(Column::AcquirerReference, Expr::value(row.acquirer_reference.clone()))
        .col_expr(Column::CapturedAt, Expr::value(row.captured_at.map(Timestamp::millis)))
        .col_expr(Column::VoidedAt, Expr::value(row.voided_at.map(Timestamp::millis)));
    Ok(tx.compare_and_set(update).await?)
}

/// Returns an update that applies only while state and attempt are as seen.
pub(in crate::services) fn compare_with_seen(seen: &charge::Model) -> UpdateMany<charge::Entity> {
    charge::Entity::update_many()
        .filter(Column::AccountId.eq(seen.account_id))
        .filter(Column::Id.eq(seen.id))
        .filter(Column::State.eq(seen.state))
        .filter(Column::Attempt.eq(seen.attempt))
}

pub(in crate::services) fn word(state: ChargeState) -> SimpleExpr {
    Expr::value(ActiveEnum::into_value(state))
}

/// Reads the charge again.
pub(super) async fn found(tx: &Tx, seen: &charge::Model) -> Result<charge::Model, Error> {
    let row = charge::Entity::owned_by(seen.account_id).filter(Column::Id.eq(seen.id)).one(tx).await?;
    row.ok_or_else(deleted)
}

/// Schedules the simulated dispute, which arrives right after this commit.
fn schedule_dispute(tx: &Tx, outcome: &RecordOutcomeUnit, row: &charge::Model) {
    if outcome.disputed {
        tx.append(&foretold_dispute::Model {
            account_id: row.account_id,
            id: row.id,
            arrives_at: outcome.now,
        });
    }
}

/// Books amount = fees + platform's share + merchant's share, on the day it becomes available.
fn book(tx: &Tx, outcome: &RecordOutcomeUnit, row: &charge::Model) {
    let entry =
        Entry { account: row.account_id, kind: EntryKind::Charge, source: row.id.into(), now: outcome.now };
    let available_on = (outcome.now + TimeSpan::days(outcome.settlement_delay_days.into())).day();
    let others = [
        (Book::Charges, -row.settlement_amount),
        (Book::Fees, row.fees),
        (Book::Platform, row.platform_fees),
    ];
    ledger::record(tx, &entry, available_on, row.entitlement, &others);
}

/// Returns the failure of a creation as its client's error, by the stored row.
pub(in crate::services) fn approved(row: &charge::Model) -> Result<(), Error> {
    match row.failure {
        Some(failure) => Err(Error::from(ErrorCode::from(failure)).about(row)),
        None if row.state == ChargeState::Processing => Err(Error::from(ErrorCode::GatewayError).about(row)),
        None => Ok(()),
    }
}
