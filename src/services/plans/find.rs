//! Finds plans.

use entity::counter::Counted;
use entity::plan::{self, Column};
use entity::{AccountToken, Owned, PlanToken};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, QueryFilter, Select};

use crate::error::{Error, ErrorCode};
use crate::params::Paging;
use crate::services::by_key;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::plans::view::Plan;
use crate::services::search_text;

/// Selects the plans that clients see: not the deleted ones.
fn visible(account: AccountToken) -> Select<plan::Entity> {
    plan::Entity::owned_by(account).filter(Column::DeletedAt.is_null())
}

/// Returns one plan.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Plan, Error> {
    let row = by_token(ctx.store.read(), account, token).await?;
    Ok(row.ok_or(ErrorCode::NotFound)?.into())
}

/// Lists the account's plans, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<Plan>, Error> {
    let plans = List::newest_first(account.id(), visible(account.id()));
    Ok(plans.counted(ctx, Counted::Plans, paging).await?.map(Plan::from))
}

/// Searches the account's plans by a part of their name, newest first, for the dashboard (`docs/decisions.md`, 455).
pub async fn search(
    ctx: &Context,
    account: &Account,
    query: &str,
    paging: Paging,
) -> Result<ListPage<Plan>, Error> {
    let named = search_text::contains_as_stored(ctx.store.backend(), Column::Name.into_expr(), query);
    let token = query.parse::<PlanToken>().ok().map(|token| Column::Id.eq(token));
    let plans = visible(account.id()).filter(Condition::any().add(named).add_option(token));
    Ok(List::newest_first(account.id(), plans).ranged(ctx, paging).await?.map(Plan::from))
}

pub(in crate::services) async fn by_token(
    db: &impl ConnectionTrait,
    account: &Account,
    token: &str,
) -> Result<Option<plan::Model>, Error> {
    by_key::find_among(db, visible(account.id()), token).await
}
