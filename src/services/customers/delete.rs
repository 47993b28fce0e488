//! The part of DELETE /customers/{token} that deletes the customer itself; the subscriptions module deletes its
//! subscriptions.

use entity::Timestamp;
use entity::counter::Counted;
use entity::customer::{self, Column};
use entity::event::EventType;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use super::create::deleted_meanwhile;
use super::find::view;
use super::update::locked;
use crate::error::Error;
use crate::services::{cards, events};
use crate::store::Tx;

/// Deletes a customer and all its cards permanently, as a part of its caller's unit; its charges stay, with the card as
/// it was.
///
/// Refusals: `not_found`.
pub(in crate::services) async fn record(
    tx: &Tx,
    seen: &customer::Model,
    now: Timestamp,
) -> Result<(), Error> {
    let row = locked(tx, seen).await?;
    let last = view(tx, row.clone()).await?;
    let rows = customer::Entity::delete_many()
        .filter(Column::AccountId.eq(row.account_id))
        .filter(Column::Id.eq(row.id));
    if rows.exec(tx).await?.rows_affected == 0 {
        return Err(deleted_meanwhile());
    }
    cards::delete_of_customer(tx, row.account_id, row.id, None).await?;
    tx.count(row.account_id, Counted::Customers, -1);
    events::record(tx, row.account_id, now, EventType::CustomerDeleted, &last)
}
