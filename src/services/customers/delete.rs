//! The part of DELETE /customers/{token} that deletes the customer itself; the subscriptions module deletes its
//! subscriptions.

use entity::counter::Counted;
use entity::event::EventType;
use entity::{
    AccountToken, CardToken, CustomerToken, JsonText, Listed, Owned, Timestamp, card, customer, erasure,
};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use store::Tx;

use super::create::deleted_meanwhile;
use super::find::view;
use super::update::locked;
use crate::error::Error;
use crate::limits::ACCOUNT_QUIET_AFTER;
use crate::services::{cards, counts, events};

/// Deletes a customer and all its cards permanently, as a part of its caller's unit; its charges stay, with the card as
/// it was. With `erase_at`, its personal data is erased at that time.
///
/// Refusals: `not_found`.
pub(in crate::services) async fn record(
    tx: &Tx,
    seen: &customer::Model,
    now: Timestamp,
    erase_at: Option<Timestamp>,
) -> Result<(), Error> {
    let row = locked(tx, seen).await?;
    let last = view(tx, row.clone()).await?;
    let rows = customer::Entity::delete_at(row.account_id, row.id);
    if rows.exec(tx).await?.rows_affected == 0 {
        return Err(deleted_meanwhile());
    }
    if let Some(at) = erase_at {
        let cards = JsonText::encode(&card_tokens(tx, row.account_id, row.id).await?)?;
        plan_erasure(tx, (row.account_id, row.id), cards, (now, at), None).await?;
    }
    cards::delete_of_customer(tx, row.account_id, row.id, None).await?;
    counts::subtract(tx, row.account_id, Counted::Customers, 1);
    events::record(tx, row.account_id, now, EventType::CustomerDeleted, &last)
}

pub(in crate::services) async fn card_tokens(
    tx: &Tx,
    account: AccountToken,
    customer: CustomerToken,
) -> Result<Vec<CardToken>, Error> {
    let cards = card::Entity::owned_by(account).filter(card::Column::CustomerId.eq(customer));
    Ok(cards.select_only().column(card::Column::Id).into_tuple().all(tx).await?)
}

/// Adds an erasure, or plans the same customer's again: after its data came back from a copy. Returns the row.
pub(in crate::services) async fn plan_erasure(
    tx: &Tx,
    (account_id, id): (AccountToken, CustomerToken),
    cards: JsonText,
    (now, due_at): (Timestamp, Timestamp),
    erased_at: Option<Timestamp>,
) -> Result<erasure::Model, Error> {
    use erasure::Column;

    let (quiet_at, due_at) = (now + ACCOUNT_QUIET_AFTER, Some(due_at));
    let row = erasure::Model { account_id, id, cards, quiet_at, due_at, erased_at };
    let again = OnConflict::columns([Column::AccountId, Column::Id])
        .update_columns([Column::QuietAt, Column::DueAt])
        // One that had begun stays so.
        .update_columns(erased_at.map(|_| Column::ErasedAt))
        .to_owned();
    let planned = erasure::Entity::insert(row.clone().into_active_model()).on_conflict(again);
    planned.exec_without_returning(tx).await?;
    Ok(row)
}
