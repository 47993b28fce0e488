//! An account's switches and settings that govern its requests (`docs/decisions.md`, 222).

use entity::account::{self, Column};
use entity::{AccountToken, JsonText, Timestamp};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect, UpdateMany};
use store::Tx;

use crate::error::{Error, ErrorCode};
use crate::services::accounts::params::ChangedSettings;

/// Records the changed settings and returns the account; `now` is by the account's clock.
///
/// Refusals: `unauthorized` if the account is gone.
pub async fn record(
    tx: &Tx,
    id: AccountToken,
    now: Timestamp,
    changes: &ChangedSettings,
) -> Result<account::Model, Error> {
    let seen = lock_account(tx, id).await?;
    let mut row = seen.clone();
    set(&mut row.disputes, changes.disputes);
    set(&mut row.wallet, changes.wallet);
    set(&mut row.partner, changes.partner);
    row.strict_parameters = changes.strict_parameters.or(row.strict_parameters);
    set(&mut row.transfers_enabled, changes.transfers_enabled);
    set(&mut row.third_party_transfer_fee, changes.third_party_transfer_fee);
    set(&mut row.maximum_charge_cents, changes.maximum_charge_cents);
    set(
        &mut row.settlement_delay_days,
        changes.settlement_delay_days.and_then(|days| i32::try_from(days).ok()),
    );
    if let Some(schedule) = changes.transfers_schedule {
        let next = schedule.next_after(now);
        // A later one was set by a clock that ran ahead.
        if schedule != row.transfers_schedule || next < row.settles_at {
            (row.transfers_schedule, row.settles_at) = (schedule, next);
        }
    }
    if let Some(changed) = &changes.card_testing {
        let mut card_testing = row.card_testing();
        changed.apply(&mut card_testing);
        row.card_testing = Some(JsonText::encode(&card_testing)?);
    }
    let mut pricing = serde_json::from_str(row.pricing.as_str())?;
    changes.price(&mut pricing);
    row.pricing = JsonText::encode(&pricing)?;
    tx.update(&seen, &row).await?;
    Ok(row)
}

fn set<T>(column: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *column = value;
    }
}

/// Locks the account's row until commit. An account deleted since the request began counts as gone.
///
/// Refusals: `unauthorized`.
pub async fn lock_account(tx: &Tx, id: AccountToken) -> Result<account::Model, Error> {
    let row = account::Entity::find_by_id(id).lock(LockType::NoKeyUpdate).one(tx).await?;
    row.filter(|row| row.closed_at.is_none()).ok_or_else(|| ErrorCode::Unauthorized.into())
}

pub fn update_of(id: AccountToken) -> UpdateMany<account::Entity> {
    account::Entity::update_many().filter(Column::Id.eq(id))
}
