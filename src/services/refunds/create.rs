//! POST /charges/{charge_token}/refunds: records the pending refund, its postings and its event in one commit.

use base::crash_points;
use base::mutants::{self, Mutant};
use entity::charge::{self, ChargeState};
use entity::counter::Counted;
use entity::event::EventType;
use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::refund::{self, RefundState};
use entity::{ChargeToken, RefundToken, Timestamp};
use store::Tx;

use crate::error::{Error, ErrorCode};
use crate::params::{FieldErrors, Params};
use crate::services::context::{Account, Caller, Context};
use crate::services::ledger::{self, BalanceTooLow, Entry, FundsSource};
use crate::services::refunds::params::NewRefund;
use crate::services::refunds::view::Refund;
use crate::services::{charges, counts, events, idempotency};

pub const NOT_COVERED: &str = "Refund amount is more than your available balance.";

/// Refunds a charge, fully or in part, without waiting for the acquirer.
///
/// Refusals, first match wins: `not_found`, `invalid_resource` (on amount, then on charge, then on an amount over the
/// rest), `insufficient_service_balance`.
pub async fn create(
    ctx: &Context,
    caller: &Caller,
    charge: &str,
    params: Params<NewRefund>,
) -> Result<Refund, Error> {
    let charge = charges::find::by_token(ctx.store.read(), &caller.account, charge).await?;
    let unit = CreateRefundUnit {
        account: caller.account.clone(),
        charge: charge.id,
        amount: params.amount()?.unwrap_or(charge.amount),
        id: ctx.ids.token(),
        submit_after: ctx.clock.now(),
    };
    let refund = idempotency::write(ctx, caller, unit, record).await;
    crash_points::point("refund", "intent.after");
    refund
}

struct CreateRefundUnit {
    account: Account,
    charge: ChargeToken,
    amount: i64,
    id: RefundToken,
    submit_after: Timestamp,
}

async fn record(tx: &Tx, unit: &CreateRefundUnit) -> Result<Refund, Error> {
    let charge = charges::lock(tx, unit.account.id(), unit.charge).await?;
    if unit.amount > refundable_amount(&charge)? && !mutants::is(Mutant::RefundNotCompared) {
        return Err(
            FieldErrors::one("amount", "You have tried to refund more than the original charge").into()
        );
    }
    let now = unit.account.now;
    let is_last = unit.amount == charge.amount - charge.amount_refunded;
    let rest = charge.settlement_amount - charge.settlement_refunded;
    let row = refund::Model {
        account_id: charge.account_id,
        id: unit.id,
        charge_id: charge.id,
        state: RefundState::Submitting,
        attempt: 0,
        submit_after: Some(unit.submit_after),
        announced: None,
        settles_at: None,
        amount: unit.amount,
        currency: charge.currency,
        settlement_amount: charge.settlement_of_part(unit.amount, rest, is_last),
        created_at: now,
    };
    let entry = Entry { account: row.account_id, kind: EntryKind::Refund, source: row.id.into(), now };
    let draws = FundsSource::AvailableAndPending;
    ledger::debit(tx, &entry, draws, row.settlement_amount, Book::Refunds)
        .await?
        .map_err(|BalanceTooLow| Error::explained(ErrorCode::InsufficientServiceBalance, NOT_COVERED))?;
    reduce(tx, &charge, &row).await?;
    tx.append(&row);
    counts::add(tx, row.account_id, Counted::Refunds, 1);
    let refund = Refund::from(row);
    events::record(tx, charge.account_id, now, EventType::RefundCreated, &refund)?;
    crash_points::point("refund", "intent.before");
    Ok(refund)
}

/// Returns how much of a charge can still be refunded.
///
/// Refusals: `invalid_resource`, on charge.
pub fn refundable_amount(charge: &charge::Model) -> Result<i64, Error> {
    if charge.state != ChargeState::Captured {
        return Err(FieldErrors::one("charge", "has not been captured").into());
    }
    if charge.disputes_standing > 0 {
        return Err(FieldErrors::one("charge", "is disputed").into());
    }
    Ok(charge.amount - charge.amount_refunded)
}

/// Adds the refund to the charge at once.
async fn reduce(tx: &Tx, seen: &charge::Model, refund: &refund::Model) -> Result<(), Error> {
    let charge = charge::Model {
        amount_refunded: seen.amount_refunded + refund.amount,
        settlement_refunded: seen.settlement_refunded + refund.settlement_amount,
        refunds_pending: seen.refunds_pending + 1,
        ..seen.clone()
    };
    Ok(tx.update(seen, &charge).await?)
}
