//! Searches subscriptions, for the dashboard: the API has no such search (`docs/decisions.md`, 455).

use entity::subscription::Column;
use entity::{AccountToken, CardToken, CustomerToken, Owned, PlanToken, SubscriptionToken, customer, plan};
use sea_orm::{ColumnTrait, Condition, DbBackend, QueryFilter, QuerySelect, QueryTrait};

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
    let words = search.query.as_deref().map(|query| matching(ctx.store.backend(), account.id(), query));
    let found = in_period(&Column::CreatedAt.into_expr(), &search)
        .add_option(state.map(|state| Column::State.eq(state)))
        .add_option(words);
    let list = List::newest_first(account.id(), visible(account.id()).filter(found));
    Ok(list.ranged(ctx, search.paging).await?.map(Subscription::from))
}

/// Returns the condition that a query names a subscription: by its customer, by a part of its plan's name, or by the token of the
/// subscription, its plan or its card.
fn matching(backend: DbBackend, account: AccountToken, query: &str) -> Condition {
    let customers = customer::Entity::owned_by(account)
        .filter(customers::search::matching(backend, account, query))
        .select_only()
        .column(customer::Column::Id);
    let name = search_text::contains_as_stored(backend, plan::Column::Name.into_expr(), query);
    let plans = plan::Entity::owned_by(account).filter(name).select_only().column(plan::Column::Id);
    Condition::any()
        .add(Column::CustomerId.in_subquery(customers.into_query()))
        .add(Column::PlanId.in_subquery(plans.into_query()))
        .add_option(query.parse::<SubscriptionToken>().ok().map(|token| Column::Id.eq(token)))
        .add_option(query.parse::<PlanToken>().ok().map(|token| Column::PlanId.eq(token)))
        .add_option(query.parse::<CustomerToken>().ok().map(|token| Column::CustomerId.eq(token)))
        .add_option(query.parse::<CardToken>().ok().map(|token| Column::CardId.eq(token)))
}
