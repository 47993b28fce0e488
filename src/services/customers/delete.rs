//! DELETE /customers/{token}.

use entity::counter::Counted;
use entity::customer::{self, Column};
use entity::event::EventType;
use futures::FutureExt;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use super::create::gone;
use super::find::{by_token, view};
use super::update::locked;
use crate::error::Error;
use crate::services::context::{Account, Context};
use crate::services::{cards, events, idempotency};

/// Delete a customer and all its cards permanently; its charges stay, with the card as it was.
///
/// Refusals: `not_found`.
pub async fn delete(ctx: &Context, account: &Account, token: &str) -> Result<(), Error> {
    let row = by_token(ctx.store.read(), account, token).await?;
    idempotency::write(ctx, account, (account.clone(), row), |tx, (account, row)| {
        async move {
            let row = locked(tx, row).await?;
            let last = view(tx, row.clone()).await?;
            let rows = customer::Entity::delete_many()
                .filter(Column::AccountId.eq(row.account_id))
                .filter(Column::Id.eq(row.id));
            if rows.exec(tx).await?.rows_affected == 0 {
                return Err(gone());
            }
            cards::delete_of_customer(tx, row.account_id, row.id, None).await?;
            tx.count(row.account_id, Counted::Customers, -1);
            events::record(tx, row.account_id, account.now, EventType::CustomerDeleted, &last)
        }
        .boxed()
    })
    .await
}
