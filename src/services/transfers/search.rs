//! Searches transfers: text by substring, everything else exactly (specification, GET /transfers/search;
//! `docs/decisions.md`, 204).

use entity::counter::Counted;
use entity::section::{Right, Section};
use entity::transfer::{self, Column};
use entity::{Owned, RecipientToken, TransferToken, recipient};
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};
use sea_orm::{ColumnTrait, DbBackend, QueryFilter, QuerySelect, QueryTrait};

use crate::error::Error;
use crate::params::Search;
use crate::services::context::{Account, Context};
use crate::services::page::{Growth, List, ListPage, in_period};
use crate::services::search_text;
use crate::services::transfers::view::Transfer;

/// The keys that transfers can be sorted by.
pub const SORTS: &[&str] = &["paid_at"];

pub async fn search(ctx: &Context, account: &Account, search: Search) -> Result<ListPage<Transfer>, Error> {
    let mut found = in_period(&Column::CreatedAt.into_expr(), &search);
    if let Some(query) = &search.query {
        let backend = ctx.store.backend();
        let matching = matching(backend, account, query);
        found = found.add(search_text::any_of::<transfer::Entity>(backend, account.id(), matching));
    }
    // A recipient may get another name, so what a query finds may change.
    let by_time =
        (Column::CreatedAt, if search.query.is_some() { Growth::Changing } else { Growth::AtItsEnd });
    let all = transfer::Entity::owned_by(account.id());
    let list = List::sorted(account.id(), all, by_time, search.ascending).part_of(Counted::Transfers, found);
    Ok(list.ranged(ctx, search.paging).await?.map(Transfer::from))
}

/// Returns the conditions: description, amount and token of transfers, the token of recipients, and their current name and e-mail
/// address for those who may read recipients: what a transfer does not show, its search does not tell either.
fn matching(backend: DbBackend, account: &Account, query: &str) -> Vec<SimpleExpr> {
    let with_words = |text: SimpleExpr| search_text::contains(backend, text, query);
    let recipients = || {
        recipient::Entity::owned_by(account.id())
            .filter(with_words(recipient::Column::SearchText.into_expr()))
            .select_only()
            .column(recipient::Column::Id)
            .into_query()
    };
    let may_read_recipients = account.may(Section::Recipients, Right::Read);
    let is = |column: Column, value: Option<SimpleExpr>| value.map(|value| Expr::col(column).eq(value));
    let conditions = [
        Some(with_words(Column::SearchText.into_expr())),
        may_read_recipients.then(|| Expr::col(Column::RecipientId).in_subquery(recipients())),
        is(Column::Amount, query.parse::<i64>().ok().map(Expr::value)),
        is(Column::Id, query.parse::<TransferToken>().ok().map(Expr::value)),
        is(Column::RecipientId, query.parse::<RecipientToken>().ok().map(Expr::value)),
    ];
    conditions.into_iter().flatten().collect()
}
