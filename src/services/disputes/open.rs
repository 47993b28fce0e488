//! Opens a dispute: the network has returned the money to the cardholder.

use base::crash_points;
use entity::charge::{self, ChargeState};
use entity::counter::Counted;
use entity::dispute::{self, DisputeCategory, DisputeStatus};
use entity::dispute_activity::ActivityKind;
use entity::{AccountToken, ChargeToken, TimeSpan, Timestamp};
use store::Tx;

use super::activity::note;
use super::{find, state, transitions};
use crate::error::{Error, ErrorCode};
use crate::limits::EVIDENCE_DAYS;
use crate::params::values::INVALID;
use crate::params::{FieldErrors, Params};
use crate::services::context::{Caller, Context};
use crate::services::disputes::params::NewDispute;
use crate::services::disputes::view::Dispute;
use crate::services::{charges, counts, events, idempotency};

/// Opens a dispute on request.
///
/// Refusals: `invalid_resource` (on all parameters; then on a charge that is not captured or of which nothing is left
/// to dispute, and on an amount over what is left).
pub async fn open(ctx: &Context, caller: &Caller, params: Params<NewDispute>) -> Result<Dispute, Error> {
    let account = &caller.account;
    let Params { value: new_dispute, mut faults } = params;
    let charge = charges::find::by_token(ctx.store.read(), account, new_dispute.charge_token.trim()).await;
    let charge = match charge {
        Ok(charge) => Some(charge.id),
        Err(error) if error.code() == ErrorCode::NotFound => None,
        Err(error) => return Err(error),
    };
    if charge.is_none() && !faults.has("charge_token") {
        faults.add("charge_token", INVALID);
    }
    let (Some(charge), true) = (charge, faults.is_empty()) else { return Err(faults.into()) };
    let arriving = OpenDisputeUnit {
        account: account.id(),
        charge,
        amount: new_dispute.amount,
        category: new_dispute.category.unwrap_or(DisputeCategory::General),
        now: account.now,
    };
    let unit = idempotency::write(ctx, caller, arriving, async |tx, arriving| arriving.record(tx).await);
    let dispute = unit.await;
    crash_points::point("dispute", "open.after");
    dispute
}

#[derive(Debug, Clone)]
pub(in crate::services) struct OpenDisputeUnit {
    pub account: AccountToken,
    pub charge: ChargeToken,
    /// The whole remaining amount, if absent.
    pub amount: Option<i64>,
    pub category: DisputeCategory,
    /// By the account's clock.
    pub now: Timestamp,
}

impl OpenDisputeUnit {
    /// Records the dispute with its money, event and entries, as a part of its caller's unit.
    ///
    /// Refusals: `invalid_resource`.
    pub async fn record(&self, tx: &Tx) -> Result<Dispute, Error> {
        let charge = charges::lock(tx, self.account, self.charge).await?;
        let left = disputable_amount(&charge)?;
        let amount = self.amount.unwrap_or(left);
        if amount > left {
            return Err(FieldErrors::one("amount", format!("must be at most {left}")).into());
        }
        let rest = charge.settlement_amount - charge.settlement_refunded - charge.settlement_disputed;
        let evidence_required_by = (self.now + TimeSpan::days(EVIDENCE_DAYS)).last_midnight();
        let row = dispute::Model {
            account_id: self.account,
            id: tx.token(),
            charge_id: charge.id,
            category: self.category,
            status: DisputeStatus::EvidenceRequired,
            charged_back: true,
            amount,
            currency: charge.currency,
            settlement_amount: charge.settlement_of_part(amount, rest.max(0), amount == left),
            evidence_required_by,
            expires_at: Some(evidence_required_by),
            submitted_at: None,
            received_at: self.now,
        };
        let charge = disputed(tx, charge, &row).await?;
        tx.append(&row);
        counts::add(tx, row.account_id, Counted::Disputes, 1);
        note(tx, &row, self.now, ActivityKind::Created, None);
        transitions::charge_back(tx, &row, self.now, true).await?;
        let (account, status) = (row.account_id, row.status);
        let charge = find::views_of(tx, account, self.now, vec![charge]).await?.remove(0);
        let dispute = Dispute::new(&row, charge);
        events::record(tx, account, self.now, state::event(status), &dispute)?;
        crash_points::point("dispute", "open.before");
        Ok(dispute)
    }
}

/// Returns the amount of a charge that can still be disputed, which is positive (`docs/decisions.md`, 210).
///
/// Refusals: `invalid_resource`, on charge_token.
pub fn disputable_amount(charge: &charge::Model) -> Result<i64, Error> {
    let left = charge.amount - charge.amount_refunded - charge.amount_disputed;
    if charge.state != ChargeState::Captured {
        return Err(FieldErrors::one("charge_token", "has not been captured").into());
    }
    if left <= 0 {
        return Err(FieldErrors::one("charge_token", "has nothing left to dispute").into());
    }
    Ok(left)
}

/// Adds the dispute to the charge at once.
async fn disputed(tx: &Tx, seen: charge::Model, dispute: &dispute::Model) -> Result<charge::Model, Error> {
    let charge = charge::Model {
        amount_disputed: seen.amount_disputed + dispute.amount,
        settlement_disputed: seen.settlement_disputed + dispute.settlement_amount,
        disputes_open: seen.disputes_open + 1,
        disputes_standing: seen.disputes_standing + 1,
        ..seen.clone()
    };
    tx.update(&seen, &charge).await?;
    Ok(charge)
}
