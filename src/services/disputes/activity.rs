//! GET /disputes/{dispute_token}/activity: the activity feed of a dispute.

use entity::dispute_activity::{self, ActivityKind, Column};
use entity::{Owned, Timestamp, dispute};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder};
use store::Tx;

use super::{enabled, find};
use crate::error::Error;
use crate::services::context::{Account, Context};
use crate::services::disputes::activity_view::Activity;

/// Returns a dispute's activity, newest first; the oldest entry is the charge's capture (`docs/decisions.md`, 214).
///
/// Refusals, first match wins: `api_unavailable`, `not_found`.
pub async fn activity(ctx: &Context, account: &Account, token: &str) -> Result<Vec<Activity>, Error> {
    enabled(account)?;
    let row = find::by_token(ctx, account, token).await?;
    let charge = find::charge_of(ctx, &row).await?;
    let entries = dispute_activity::Entity::owned_by(account.id())
        .filter(Column::DisputeId.eq(row.id))
        .order_by_desc(Column::Id)
        .all(ctx.store.read())
        .await?;
    let entries = entries.iter().map(|entry| Activity::of_dispute(&row, entry));
    Ok(entries.chain([Activity::of_charge(&charge)]).collect())
}

/// Adds an entry: the dispute's new status with its present amount, or an amount of AUD cents that moved.
pub(super) fn note(tx: &Tx, row: &dispute::Model, now: Timestamp, kind: ActivityKind, amount: Option<i64>) {
    tx.append(&dispute_activity::Model {
        account_id: row.account_id,
        id: tx.token(),
        dispute_id: row.id,
        kind,
        status: amount.is_none().then_some(row.status),
        amount: amount.or(Some(row.amount)),
        created_at: now,
    });
}
