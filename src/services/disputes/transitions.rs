//! Status transitions of disputes: by the merchant, the network or the clock.

use base::crash_points;
use entity::dispute::{self, Column, DisputeStatus};
use entity::dispute_activity::ActivityKind;
use entity::event::EventType;
use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::{AccountToken, DisputeToken, Listed, Owned, Timestamp, charge};
use sea_orm::sea_query::{Expr, ExprTrait, LockType};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect, QueryTrait};
use store::Tx;

use super::activity::note;
use super::state::{check_answerable, effective_status, next};
use super::{enabled, find};
use crate::error::{Error, ErrorCode};
use crate::limits::CHARGEBACK_FEE_CENTS;
use crate::params::Params;
use crate::services::accounts::wipe::deleted;
use crate::services::context::{Account, Caller, Context};
use crate::services::disputes::params::DecidedDispute;
use crate::services::disputes::view::Dispute;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{DueRow, DueWork, WorkResult};
use crate::services::ledger::{self, Debit, Entry};
use crate::services::{events, idempotency};

/// Accepts a dispute.
///
/// Refusals, first match wins: `api_unavailable`, `not_found`, `dispute_already_under_review`,
/// `dispute_already_cancelled`, `dispute_already_resolved`.
pub async fn accept(ctx: &Context, caller: &Caller, token: &str) -> Result<Dispute, Error> {
    answer(ctx, caller, token, DisputeStatus::Accepted).await
}

/// The time of a dispute's change, by its account's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct DisputeTime {
    pub now: Timestamp,
    /// The earliest time that it may be, by which unanswered disputes have expired.
    pub earliest: Timestamp,
}

impl DisputeTime {
    pub fn new(ctx: &Context, account: &Account) -> Self {
        Self { now: account.now, earliest: account.now_by(ctx.trusted.earliest()) }
    }
}

/// Records the merchant's answer to a dispute.
///
/// Refusals: as [`accept`].
pub(super) async fn answer(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    to: DisputeStatus,
) -> Result<Dispute, Error> {
    let account = &caller.account;
    enabled(account)?;
    let id = find::by_token(ctx, account, token).await?.id;
    let requested = (account.id(), id, to, DisputeTime::new(ctx, account));
    let unit = idempotency::write(ctx, caller, requested, async |tx, &(account, id, to, time)| {
        let row = lock_dispute(tx, account, id).await?;
        check_answerable(effective_status(time.earliest, &row))?;
        record_transition(tx, row, to, time.now).await?.ok_or_else(|| ErrorCode::InvalidState.into())
    });
    let dispute = unit.await;
    crash_points::point("dispute", "move.after");
    dispute
}

/// Records the network's decision, on request.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`, `invalid_state`.
pub async fn decide(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    params: Params<DecidedDispute>,
) -> Result<Dispute, Error> {
    let account = &caller.account;
    let id = find::by_token(ctx, account, token).await?.id;
    let requested = (account.id(), id, params.valid()?.status, DisputeTime::new(ctx, account));
    let unit = idempotency::write(ctx, caller, requested, async |tx, &(account, id, to, time)| {
        decided(tx, account, id, to, time).await
    });
    unit.await
}

/// Records the decision as a part of its caller's unit.
///
/// Refusals: `invalid_state`.
pub(super) async fn decided(
    tx: &Tx,
    account: AccountToken,
    id: DisputeToken,
    to: DisputeStatus,
    time: DisputeTime,
) -> Result<Dispute, Error> {
    let mut row = lock_dispute(tx, account, id).await?;
    row.status = effective_status(time.earliest, &row);
    if row.status == DisputeStatus::Won && to == DisputeStatus::ArbitrationUnderReview {
        let left = left_after_winning(tx, &row, Some(LockType::NoKeyUpdate)).await?;
        if left.amount <= 0 {
            return Err(ErrorCode::InvalidState.into());
        }
        reduce_to_remaining(tx, &mut row, left).await?;
    }
    record_transition(tx, row, to, time.now).await?.ok_or_else(|| ErrorCode::InvalidState.into())
}

/// The remaining amount of a charge, in its currency and in AUD cents.
pub struct RemainingAmount {
    pub amount: i64,
    pub settlement_amount: i64,
}

/// Returns the amount that refunds and standing disputes leave of the charge of a won dispute: no more is returned than
/// was charged (`docs/decisions.md`, 221).
pub async fn left_after_winning(
    db: &impl ConnectionTrait,
    row: &dispute::Model,
    lock: Option<LockType>,
) -> Result<RemainingAmount, Error> {
    let charge = charge::Entity::at(row.account_id, row.charge_id).apply_if(lock, QuerySelect::lock);
    let charge = charge.one(db).await?.ok_or_else(deleted)?;
    let disputes = dispute::Entity::owned_by(row.account_id).filter(Column::ChargeId.eq(row.charge_id));
    let mut standing = disputes.all(db).await?;
    standing.retain(|other| other.status.is_standing());
    let taken = charge.amount_refunded + standing.iter().map(|other| other.amount).sum::<i64>();
    let settled =
        charge.settlement_refunded + standing.iter().map(|other| other.settlement_amount).sum::<i64>();
    Ok(RemainingAmount {
        amount: charge.amount - taken,
        settlement_amount: Ord::max(0, charge.settlement_amount - settled),
    })
}

/// Reduces the dispute to the remaining amount, if that is less: the cardholder already has the refunded part. Refunds
/// in another currency are rounded one by one and may differ by a cent.
async fn reduce_to_remaining(tx: &Tx, row: &mut dispute::Model, left: RemainingAmount) -> Result<(), Error> {
    let seen = row.clone();
    row.amount = Ord::min(seen.amount, left.amount);
    row.settlement_amount = Ord::min(seen.settlement_amount, left.settlement_amount);
    if *row == seen {
        return Ok(());
    }
    tx.update(&seen, row).await?;
    let less = |column: charge::Column, by: i64| Expr::col(column).sub(by);
    let (disputed, settled) = (charge::Column::AmountDisputed, charge::Column::SettlementDisputed);
    let charge = charge::Entity::update_at(row.account_id, row.charge_id)
        .col_expr(disputed, less(disputed, seen.amount - row.amount))
        .col_expr(settled, less(settled, seen.settlement_amount - row.settlement_amount));
    charge.exec(tx).await?;
    Ok(())
}

/// Expires disputes that the merchant has not answered in time.
pub struct DisputeExpiryWork;

impl DueWork for DisputeExpiryWork {
    type Entity = dispute::Entity;
    const NAME: &'static str = "expired_dispute";
    const DESTROYS: bool = true;
    // Null in every other status.
    const AT: Column = Column::ExpiresAt;
    const ID: Column = Column::Id;

    fn subject(row: &dispute::Model) -> DueRow {
        let at = row.evidence_required_by;
        DueRow::new(row.account_id, at, row.id)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: dispute::Model) -> Result<WorkResult, Error> {
        let expired = time.write(ctx, (row, time.now(ctx)), async |tx, (seen, now)| {
            let row = lock_dispute(tx, seen.account_id, seen.id).await?;
            let record = record_transition(tx, row, DisputeStatus::Expired, *now).await?;
            Ok(record.map(|_| WorkResult::Event(EventType::DisputeExpired)))
        });
        expired.await.map(WorkResult::from)
    }
}

/// Locks the dispute until commit and returns it.
pub(super) async fn lock_dispute(
    tx: &Tx,
    account: AccountToken,
    id: DisputeToken,
) -> Result<dispute::Model, Error> {
    let row = dispute::Entity::at(account, id);
    row.lock(LockType::NoKeyUpdate).one(tx).await?.ok_or_else(deleted)
}

/// Moves a locked dispute to a status, with its money, event and entries. `None` if the table has no such transition.
async fn record_transition(
    tx: &Tx,
    mut row: dispute::Model,
    to: DisputeStatus,
    now: Timestamp,
) -> Result<Option<Dispute>, Error> {
    let Some(step) = next(row.status, to) else { return Ok(None) };
    let seen = row.clone();
    row.status = step.to;
    row.charged_back = step.charged_back.unwrap_or(seen.charged_back);
    row.expires_at = None;
    if to == DisputeStatus::EvidenceUnderReview {
        row.submitted_at = Some(now);
    }
    tx.update(&seen, &row).await?;
    let charge = update_charge(tx, &seen, &row).await?;
    note(tx, &row, now, ActivityKind::Updated, None);
    if row.charged_back != seen.charged_back {
        charge_back(tx, &row, now, row.charged_back).await?;
    }
    let account = row.account_id;
    let charge = find::views_of(tx, account, now, vec![charge]).await?.remove(0);
    let dispute = Dispute::new(&row, charge);
    events::record(tx, account, now, step.emits, &dispute)?;
    crash_points::point("dispute", "move.before");
    Ok(Some(dispute))
}

/// Updates the dispute counts of the charge and returns the charge.
async fn update_charge(tx: &Tx, seen: &dispute::Model, row: &dispute::Model) -> Result<charge::Model, Error> {
    use charge::Column;

    let more = |is: fn(DisputeStatus) -> bool| i32::from(is(row.status)) - i32::from(is(seen.status));
    let (open, standing) = (more(DisputeStatus::is_open), more(DisputeStatus::is_standing));
    let update = charge::Entity::update_at(row.account_id, row.charge_id)
        .col_expr(Column::DisputesOpen, Expr::col(Column::DisputesOpen).add(open))
        .col_expr(Column::DisputesStanding, Expr::col(Column::DisputesStanding).add(standing));
    update.exec(tx).await?;
    let charge = charge::Entity::at(row.account_id, row.charge_id);
    charge.one(tx).await?.ok_or_else(deleted)
}

/// Debits recovery and fee from the available balance, which may become negative, or credits both.
pub(super) async fn charge_back(
    tx: &Tx,
    row: &dispute::Model,
    now: Timestamp,
    take: bool,
) -> Result<(), Error> {
    let parts = [
        (EntryKind::ChargebackRecovery, ActivityKind::Recovery, row.settlement_amount, Book::Disputes),
        (EntryKind::ChargebackFee, ActivityKind::Fee, CHARGEBACK_FEE_CENTS, Book::Fees),
    ];
    let entries = parts.map(|(kind, ..)| Entry { account: row.account_id, kind, source: row.id.into(), now });
    let pairs = || entries.iter().zip(parts);
    if take {
        let debits: Vec<_> = pairs().map(|(entry, (_, _, amount, to))| Debit { entry, amount, to }).collect();
        ledger::take_all(tx, &debits).await?;
    } else {
        for (entry, (_, _, amount, from)) in pairs() {
            ledger::record(tx, entry, now.day(), amount, &[(from, -amount)]);
        }
    }
    for (_, activity, amount, _) in parts {
        note(tx, row, now, activity, Some(if take { -amount } else { amount }));
    }
    Ok(())
}
