//! Searches subscriptions, for the dashboard: the API has no such search (`docs/decisions.md`, 455).

use entity::subscription::{self, Column};
use entity::{AccountToken, CardToken, CustomerToken, Owned, PlanToken, SubscriptionToken, customer, plan};
use sea_orm::sea_query::SimpleExpr;
use sea_orm::{ColumnTrait, DbBackend, QueryFilter, QuerySelect, QueryTrait};

use super::rows::visible;
use crate::error::Error;
use crate::params::Params;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage, in_period};
use crate::services::subscriptions::search_params::SubscriptionSearch;
use crate::services::subscriptions::view::Subscription;
use crate::services::{customers, search_text};

/// Searches the account's subscriptions, newest first.
///
/// Refusals: `invalid_resource`.
pub async fn search(
    ctx: &Context,
    account: &Account,
    params: Params<SubscriptionSearch>,
) -> Result<ListPage<Subscription>, Error> {
    let SubscriptionSearch { search, state } = params.valid()?;
    let (backend, id) = (ctx.store.backend(), account.id());
    let words = search
        .query
        .as_deref()
        .map(|query| search_text::any_of::<subscription::Entity>(backend, id, matching(backend, id, query)));
    let found = in_period(&Column::CreatedAt.into_expr(), &search)
        .add_option(state.map(|state| Column::State.eq(state)))
        .add_option(words);
    let list = List::newest_first(account.id(), visible(account.id()).filter(found));
    Ok(list.ranged(ctx, search.paging).await?.map(Subscription::from))
}

/// Returns the conditions by which a query names a subscription: by its customer, by a part of its plan's name, or by the token of the
/// subscription, its plan or its card.
fn matching(backend: DbBackend, account: AccountToken, query: &str) -> Vec<SimpleExpr> {
    let customers = customer::Entity::owned_by(account)
        .filter(customers::search::matching(backend, account, query))
        .select_only()
        .column(customer::Column::Id);
    let name = search_text::contains_as_stored(backend, plan::Column::Name.into_expr(), query);
    let plans = plan::Entity::owned_by(account).filter(name).select_only().column(plan::Column::Id);
    let conditions = [
        Some(Column::CustomerId.in_subquery(customers.into_query())),
        Some(Column::PlanId.in_subquery(plans.into_query())),
        query.parse::<SubscriptionToken>().ok().map(|token| Column::Id.eq(token)),
        query.parse::<PlanToken>().ok().map(|token| Column::PlanId.eq(token)),
        query.parse::<CustomerToken>().ok().map(|token| Column::CustomerId.eq(token)),
        query.parse::<CardToken>().ok().map(|token| Column::CardId.eq(token)),
    ];
    conditions.into_iter().flatten().collect()
}
