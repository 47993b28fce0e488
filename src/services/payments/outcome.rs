//! The third step: the holder of the attempt records the outcome of a call, with its postings and event, in one commit.
//! The loser of a race answers from the stored row (`docs/decisions.md`, 136).

use std::sync::Arc;

use base::crash_points;
use base::mutants::{self, Mutant};
use entity::charge::{self, ChargeState, Origin};
use entity::counter::Counted;
use entity::event::EventType;
use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::{AuthorisationToken, ChargeToken, FailureCode, TimeSpan, Timestamp, scheduled_dispute};
use store::Tx;
use vault::Vault;

use super::call::call_name;
use super::capture_listener;
use super::purpose::{PaymentPurpose, rules};
use super::row::{advance, reload};
use super::state::ChargeTransition;
use crate::error::{Error, ErrorCode};
use crate::response::ApiResponse;
use crate::services::context::Context;
use crate::services::due_work::work_time::WorkTime;
use crate::services::idempotency::{self, KeptResult};
use crate::services::ledger::{self, Entry};
use crate::services::payer::TokenUse;
use crate::services::payments::view::Payment;
use crate::services::search_text;
use crate::services::{cards, counts, events};

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

/// The outcome of the attempt in `row`, as a commit records it.
pub(in crate::services) struct PaymentOutcome {
    /// The row as the intent has it.
    pub row: charge::Model,
    pub result: AttemptResult,
    /// By the account's clock.
    pub now: Timestamp,
    pub(super) token: TokenUse,
    settlement_delay_days: i32,
    /// Whether the simulated cardholder disputes the charge once it is captured.
    disputed: bool,
    vault: Arc<Vault>,
    /// The latest time that may be now, if a worker has learnt the outcome of another's call.
    recovered_at: Option<Timestamp>,
}

impl PaymentOutcome {
    /// Makes the outcome of an attempt. `token` says how the card's token is used.
    pub fn new(
        ctx: &Context,
        time: &WorkTime,
        row: charge::Model,
        token: TokenUse,
        result: AttemptResult,
    ) -> Self {
        let disputed = is_disputed(ctx, &row, &result);
        let settlement_delay_days = time.account().settings().settlement_delay_days;
        let vault = Arc::clone(&ctx.vault);
        let recovered_at = (row.attempt > row.call).then(|| ctx.trusted.latest());
        let now = time.now(ctx);
        Self { row, result, now, token, settlement_delay_days, disputed, vault, recovered_at }
    }

    /// Returns whether the card was accepted.
    pub fn is_approved(&self) -> bool {
        matches!(self.result, AttemptResult::Approved { .. })
    }

    /// Returns the charge that the simulated cardholder disputes right after the commit.
    pub(super) fn disputed(&self) -> Option<ChargeToken> {
        self.disputed.then(|| self.row.captured_as.unwrap_or(self.row.id))
    }

    /// Keeps the response for repeated requests with the key of this hash. The time for which an answer is kept begins when it is
    /// learnt, perhaps days after the request.
    ///
    /// Refusals: `idempotency_key_in_use`.
    pub async fn keep_response(&self, tx: &Tx, hash: &[u8], response: &ApiResponse) -> Result<(), Error> {
        let account = self.row.account_id;
        if let Some(at) = self.recovered_at {
            idempotency::date_key(tx, account, hash, at).await?;
        }
        idempotency::store_response(tx, &self.vault, account, hash, response)
    }
}

fn is_disputed(ctx: &Context, row: &charge::Model, result: &AttemptResult) -> bool {
    let reference = match result {
        AttemptResult::Approved { reference } => Some(reference),
        AttemptResult::Moved(_) | AttemptResult::Back | AttemptResult::Failed { .. } => {
            row.acquirer_reference.as_ref()
        }
    };
    reference.is_some_and(|reference| ctx.acquirer.is_disputed_once_captured(reference))
}

/// Commits an outcome and what follows from it.
pub(in crate::services) async fn commit_outcome<P: PaymentPurpose>(
    ctx: &Context,
    time: &WorkTime,
    outcome: PaymentOutcome,
    purpose: P,
) -> Result<P::Record, Error> {
    let name = call_name(outcome.row.state);
    let disputed = outcome.disputed();
    let unit = ctx
        .store
        .write((outcome, purpose), async |tx, (outcome, purpose)| purpose.record_outcome(tx, outcome).await);
    let record = unit.await?;
    crash_points::point(name, "outcome.after");
    after_commit::<P>(ctx, time, disputed).await;
    Ok(record)
}

/// Opens the dispute of a charge, or wakes the workers that do.
pub(super) async fn after_commit<P: PaymentPurpose>(
    ctx: &Context,
    time: &WorkTime,
    disputed: Option<ChargeToken>,
) {
    let Some(charge) = disputed else { return };
    if P::AWAITS_DISPUTE && time.is_on_running_clock() {
        capture_listener::notify(ctx, time.account(), charge).await;
    }
    ctx.memory.due_work_added.notify_waiters();
}

/// Records the outcome as a part of its caller's unit: the row, its token, postings, event and kept response. Returns the
/// stored row, and whether this unit wrote it: if not, another worker has taken the attempt over, and this unit writes
/// nothing.
pub(in crate::services) async fn record(
    tx: &Tx,
    outcome: &PaymentOutcome,
) -> Result<(charge::Model, bool), Error> {
    let row = row_after(outcome);
    if !advance(tx, &outcome.row, &row).await? && !mutants::is(Mutant::OutcomeWithoutCompareAndSet) {
        return Ok((reload(tx, &outcome.row).await?, false));
    }
    if let TokenUse::Single(card) = outcome.token {
        match outcome.result {
            AttemptResult::Approved { .. } | AttemptResult::Failed { spent: true, .. } => {
                cards::spend(tx, row.account_id, card).await?;
            }
            AttemptResult::Failed { spent: false, .. } if mutants::is(Mutant::TokenStaysReserved) => {}
            AttemptResult::Failed { spent: false, .. } => {
                cards::release(tx, row.account_id, card).await?;
            }
            AttemptResult::Moved(_) | AttemptResult::Back => {}
        }
    }
    follow(tx, outcome, &row).await?;
    Ok((row, true))
}

/// Records what follows from an outcome whose `row` is recorded: postings, event and kept response.
pub(super) async fn follow(tx: &Tx, outcome: &PaymentOutcome, row: &charge::Model) -> Result<(), Error> {
    let charge = shown_charge(tx, row)?;
    if charge.state == ChargeState::Captured {
        book(tx, outcome, &charge);
        schedule_dispute(tx, outcome, &charge);
    }
    if charge.is_listed() && !outcome.row.is_listed() {
        counts::add(tx, charge.account_id, Counted::Charges, 1);
        search_text::append(tx, charge.account_id, charge.id.id(), &charge.search_text);
    }
    if row.is_authorisation() && outcome.row.state == ChargeState::Processing {
        counts::add(tx, row.account_id, Counted::Authorisations, 1);
    }
    let shown = Payment::at(outcome.now, charge);
    if let Some(event) = outcome.result.emits(row.capture) {
        events::record(tx, row.account_id, outcome.now, event, &shown)?;
    }
    // A subscription's client is shown the subscription, not its charge.
    let shows_another = rules(row.origin).is_bill && outcome.is_approved();
    if let Some(hash) = row.claim.as_ref().filter(|_| !shows_another) {
        match kept_result(&outcome.result, row, &shown) {
            Some(result) => outcome.keep_response(tx, hash, &result.response()?).await?,
            None => idempotency::release_key(tx, row.account_id, hash).await?,
        }
    }
    crash_points::point(call_name(outcome.row.state), "outcome.before");
    Ok(())
}

/// Returns the charge that event and responses show: for a captured authorisation, the charge that begins with this
/// commit.
fn shown_charge(tx: &Tx, row: &charge::Model) -> Result<charge::Model, Error> {
    if !row.is_authorisation() || row.state != ChargeState::Captured {
        return Ok(row.clone());
    }
    let charge = charge_of_capture(row)?;
    tx.append(&charge);
    Ok(charge)
}

/// Returns the new charge of a captured authorisation.
pub(in crate::services) fn charge_of_capture(row: &charge::Model) -> Result<charge::Model, Error> {
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

/// Returns the result that answers repeated requests, whichever worker learnt the outcome. `None` if nothing happened, so
/// that the client may try again (`docs/decisions.md`, 67).
fn kept_result<'r>(
    result: &AttemptResult,
    row: &charge::Model,
    shown: &'r Payment,
) -> Option<KeptResult<'r, Payment>> {
    match result {
        AttemptResult::Approved { .. } => Some(KeptResult::Created(shown)),
        AttemptResult::Moved(_) => Some(KeptResult::Changed(shown)),
        AttemptResult::Failed { .. } if mutants::is(Mutant::DeclineReleasesKey) => None,
        AttemptResult::Failed { failure, spent: true } => {
            Some(KeptResult::Refused(Error::from(ErrorCode::from(*failure)).about(row)))
        }
        AttemptResult::Failed { spent: false, .. } | AttemptResult::Back => None,
    }
}

/// Returns the row with the result applied.
pub(super) fn row_after(outcome: &PaymentOutcome) -> charge::Model {
    let mut row = outcome.row.clone();
    row.settle_after = None;
    match &outcome.result {
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

/// Schedules the simulated dispute, which arrives right after this commit.
fn schedule_dispute(tx: &Tx, outcome: &PaymentOutcome, row: &charge::Model) {
    if outcome.disputed {
        tx.append(&scheduled_dispute::Model {
            account_id: row.account_id,
            id: row.id,
            arrives_at: outcome.now,
        });
    }
}

/// Books amount = fees + platform's share + merchant's share, on the day it becomes available.
fn book(tx: &Tx, outcome: &PaymentOutcome, row: &charge::Model) {
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
