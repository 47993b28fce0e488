//! Finds the webhooks of the events about a record.

use entity::webhook::{self, Column};
use entity::{Listed, Owned, event, webhook_endpoint};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait};

use super::about;
use crate::error::Error;
use crate::services::context::{Account, Context};
use crate::services::webhooks::view::Webhook;

/// How many webhooks are returned.
const NEWEST: u64 = 25;

/// Returns the newest webhooks of the events about the record with this token.
pub async fn webhooks_about(ctx: &Context, account: &Account, record: &str) -> Result<Vec<Webhook>, Error> {
    let of_record = event::Entity::owned_by(account.id())
        .filter(about(ctx.store.backend(), record))
        .select_only()
        .column(event::Column::Id);
    let rows = webhook::Entity::owned_by(account.id())
        .filter(Column::EventId.in_subquery(of_record.into_query()))
        .inner_join(webhook_endpoint::Entity)
        .order_by_desc(webhook::Entity::ID)
        .limit(NEWEST);
    let rows = rows.select_also(webhook_endpoint::Entity).all(ctx.store.read()).await?;
    Ok(rows.into_iter().filter_map(|(row, endpoint)| Some(Webhook::new(row, endpoint?.url))).collect())
}
