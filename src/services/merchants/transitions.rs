//! Moves a merchant from one status to the next: the operator decides, in test also the sandbox.

use entity::account;
use entity::audit_entry::Action;
use entity::merchant::{self, MerchantStatus};
use entity::{AccountToken, Listed, MerchantToken, Timestamp};
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{ActiveEnum, ColumnTrait, EntityTrait, QueryFilter, QuerySelect};
use serde_json::json;
use store::Tx;

use super::find::{by_token, last_charge, own};
use super::state::next;
use crate::Store;
use crate::error::{Error, ErrorCode};
use crate::params::Params;
use crate::services::accounts::settings;
use crate::services::accounts::wipe::deleted;
use crate::services::audit::{self, OperatorAction};
use crate::services::context::{Caller, Context};
use crate::services::merchants::params::DecidedMerchant;
use crate::services::merchants::view::{MerchantDetail, MerchantSummary};
use crate::services::{events, idempotency, installation};

/// Decides about a merchant, in place of the operator.
///
///
/// Refusals, first match wins: `not_found`, `invalid_resource`, `invalid_state`.
pub async fn decide(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    params: Params<DecidedMerchant>,
) -> Result<MerchantDetail, Error> {
    let account = &caller.account;
    let row = by_token(ctx, account, token).await?;
    let to = params.valid()?.status.status();
    let own = own(ctx, &row).await?;
    let decision = DecideMerchantUnit { partner: account.id(), id: row.id, to, now: account.now };
    let unit = idempotency::write(ctx, caller, (decision, own), async |tx, (decision, own)| {
        let (row, last_charge) = decision.record(tx).await?;
        Ok(MerchantDetail::new(&row, last_charge, own)?)
    });
    unit.await
}

/// Decides about a merchant as the operator, who names it by its token alone.
///
///
/// Refusals, first match wins: `service_unavailable`, `not_found`, `invalid_state`.
pub async fn decide_as_operator(
    store: &Store,
    wall: Timestamp,
    id: MerchantToken,
    to: MerchantStatus,
) -> Result<MerchantSummary, Error> {
    let partner = partner_of(store, id).await?;
    let decision = DecideMerchantUnit { partner: partner.id, id, to, now: partner.now(wall) };
    let detail = json!({ "status": to });
    let act = OperatorAction::about(Action::MerchantDecided, partner.id, id.to_string(), detail);
    let unit = store.write((decision, act), async |tx, (decision, act)| {
        let (row, last_charge) = decision.record(tx).await?;
        audit::record(tx, act)?;
        Ok(MerchantSummary::new(&row, last_charge))
    });
    unit.await
}

/// Returns the account that referred a merchant, as named by the merchant's own account.
///
///
/// Refusals: `not_found`; `service_unavailable` while a snapshot is restored into one of the two.
pub(super) async fn partner_of(store: &Store, id: MerchantToken) -> Result<account::Model, Error> {
    let open = |id| account::Entity::find_by_id(id).filter(account::Column::ClosedAt.is_null());
    let not_found = || Error::from(ErrorCode::NotFound);
    let own = open(AccountToken::new(id.id())).one(store.read()).await?.ok_or_else(not_found)?;
    let partner = own.referred_by.ok_or_else(not_found)?;
    let partner = open(partner).one(store.read()).await?.ok_or_else(not_found)?;
    installation::refuse_while_restoring(store.read(), &[own.id, partner.id]).await?;
    Ok(partner)
}

/// A decision to record.
struct DecideMerchantUnit {
    partner: AccountToken,
    id: MerchantToken,
    to: MerchantStatus,
    now: Timestamp,
}

impl DecideMerchantUnit {
    /// Writes both rows and the event in one commit. Returns the merchant's new row and the time of its last charge.
    ///
    /// Refusals: `invalid_state`.
    async fn record(&self, tx: &Tx) -> Result<(merchant::Model, Option<Timestamp>), Error> {
        let row = merchant::Entity::at(self.partner, self.id);
        let seen = row.lock(LockType::NoKeyUpdate).one(tx).await?.ok_or_else(deleted)?;
        let step = next(seen.status, self.to).ok_or(ErrorCode::InvalidState)?;
        let last_charge = last_charge(tx, &seen).await?;
        let mut row = seen.clone();
        row.status = step.to;
        row.updated_at = self.now;
        if step.to == MerchantStatus::Active {
            row.activated_at = row.activated_at.or(Some(self.now));
        }
        tx.update(&seen, &row).await?;
        let own = settings::update_of(row.own_account())
            .col_expr(account::Column::Status, Expr::value(row.status.into_value()));
        own.exec(tx).await?;
        let summary = MerchantSummary::new(&row, last_charge);
        events::record(tx, self.partner, self.now, step.emits, &summary)?;
        Ok((row, last_charge))
    }
}
