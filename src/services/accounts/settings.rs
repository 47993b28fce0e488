//! An account's switches and settings, of those that govern (decisions 10).

use entity::account::{self, Column};
use entity::{AccountToken, Timestamp};
use futures::FutureExt;
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{ActiveEnum, ColumnTrait, EntityTrait, QueryFilter, QuerySelect, UpdateMany};

use crate::error::{Error, ErrorCode};
use crate::params::Params;
use crate::params::sandbox::ChangedAccount;
use crate::services::context::{Account, Context};
use crate::services::idempotency;
use crate::store::Tx;
use crate::views::sandbox::SandboxAccount;

/// Change what was sent; the rest stays.
///
/// Refusals: `invalid_resource`.
pub async fn change(
    ctx: &Context,
    account: &Account,
    params: Params<ChangedAccount>,
) -> Result<SandboxAccount, Error> {
    let change = (account.clone(), params.valid()?);
    let unit =
        idempotency::write(ctx, account, change, |tx, (account, asked)| record(tx, account, asked).boxed());
    unit.await
}

async fn record(tx: &Tx, account: &Account, asked: &ChangedAccount) -> Result<SandboxAccount, Error> {
    let id = account.id();
    let mut row = held(tx, id).await?;
    let set = |column: &mut bool, asked: Option<bool>| *column = asked.unwrap_or(*column);
    set(&mut row.disputes, asked.disputes);
    set(&mut row.wallet, asked.wallet);
    set(&mut row.partner, asked.partner);
    set(&mut row.transfers_enabled, asked.transfers_enabled);
    if let Some(schedule) = asked.transfers_schedule.filter(|schedule| *schedule != row.transfers_schedule) {
        row.transfers_schedule = schedule;
        row.settles_at = schedule.next_after(account.now);
    }
    row.settlement_delay_days = asked.settlement_delay_days().unwrap_or(row.settlement_delay_days);
    let change = of(id)
        .col_expr(Column::Disputes, Expr::value(row.disputes))
        .col_expr(Column::Wallet, Expr::value(row.wallet))
        .col_expr(Column::Partner, Expr::value(row.partner))
        .col_expr(Column::TransfersEnabled, Expr::value(row.transfers_enabled))
        .col_expr(Column::TransfersSchedule, Expr::value(row.transfers_schedule.into_value()))
        .col_expr(Column::SettlesAt, Expr::value(row.settles_at.map(Timestamp::millis)))
        .col_expr(Column::SettlementDelayDays, Expr::value(row.settlement_delay_days));
    change.exec(tx).await?;
    Ok(SandboxAccount::from(&row))
}

/// The account as it stands now, which nobody else changes before this commit. One that has been deleted since the
/// request began is nobody's any more.
///
/// Refusals: `unauthorized`.
pub async fn held(tx: &Tx, id: AccountToken) -> Result<account::Model, Error> {
    let row = account::Entity::find_by_id(id).lock(LockType::NoKeyUpdate).one(tx).await?;
    row.filter(|row| row.closed_at.is_none()).ok_or_else(|| ErrorCode::Unauthorized.into())
}

/// A change of one account.
pub fn of(id: AccountToken) -> UpdateMany<account::Entity> {
    account::Entity::update_many().filter(Column::Id.eq(id))
}
