//! Searches customers, for the dashboard: the API has no such search (`docs/decisions.md`, 455).

use entity::customer::{self, Column};
use entity::{AccountToken, CardToken, CustomerToken, Listed, Owned, card};
use sea_orm::sea_query::{Expr, Func, SimpleExpr};
use sea_orm::{ColumnTrait, Condition, DbBackend, QueryFilter, QuerySelect, QueryTrait};

use super::find::shown;
use crate::error::Error;
use crate::params::Search;
use crate::services::context::{Account, Context};
use crate::services::customers::view::Customer;
use crate::services::page::{List, ListPage, in_period};
use crate::services::search_text;

/// Searches the account's customers, newest first.
pub async fn search(ctx: &Context, account: &Account, search: Search) -> Result<ListPage<Customer>, Error> {
    let words = search.query.as_deref().map(|query| matching(ctx.store.backend(), account.id(), query));
    let found = in_period(&Column::CreatedAt.into_expr(), &search).add_option(words);
    let rows = customer::Entity::owned_by(account.id()).filter(found);
    let page = List::newest_first(account.id(), rows).ranged(ctx, search.paging).await?;
    shown(ctx, account, page).await
}

/// Returns the condition that a query names a customer: by a part of the e-mail address, the name, the company, the telephone number
/// or the notes, or by the token of the customer or of a card.
pub(in crate::services) fn matching(backend: DbBackend, account: AccountToken, query: &str) -> Condition {
    let text = |column: Column| SimpleExpr::from(Func::coalesce([column.into_expr(), Expr::value("")]));
    let joined = if backend == DbBackend::Postgres { "$1 || ' ' || $2" } else { "? || ' ' || ?" };
    let name = Expr::cust_with_exprs(joined, [text(Column::FirstName), text(Column::LastName)]);
    let texts = [Column::Email, Column::FirstName, Column::LastName, Column::Company, Column::PhoneNumber]
        .into_iter()
        .chain([Column::Notes])
        .map(text)
        .chain([name]);
    let words = texts.map(|text| search_text::contains_as_stored(backend, text, query));
    let of_card = query.parse::<CardToken>().ok().map(|token| {
        let card = card::Entity::at(account, token).select_only().column(card::Column::CustomerId);
        Column::Id.in_subquery(card.into_query())
    });
    let named = query.parse::<CustomerToken>().ok().map(|token| Column::Id.eq(token));
    words.fold(Condition::any(), Condition::add).add_option(named).add_option(of_card)
}
