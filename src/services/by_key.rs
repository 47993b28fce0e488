//! Looks rows up by their keys, one by one.
//!
//! PostgreSQL guesses how many rows an account has, until it has counted them: one in two hundred of the table's. So in a join or a
//! list of ids it would rather read the whole account than look up some of its rows. A query with a limit beside another one leaves
//! it no choice. The account stays in plain sight in each of them, because a distributed database sends a statement to one node
//! by that. SQLite has no such queries, and no need: it looks up anyway.

use entity::{AccountToken, Listed};
use sea_orm::sea_query::{Expr, ExprTrait, Func, JoinType, Query, SelectStatement, SimpleExpr};
use sea_orm::{ColumnTrait, ConnectionTrait, DbBackend, QueryFilter, QuerySelect, QueryTrait, Select};
use uuid::Uuid;

use super::context::Account;
use crate::error::{Error, ErrorCode};

/// Finds the account's row with a token that a request names.
///
/// Refusals: `not_found`.
pub async fn find<E: Listed>(
    db: &impl ConnectionTrait,
    account: &Account,
    token: &str,
) -> Result<E::Model, Error> {
    let row = find_among(db, E::owned_by(account.id()), token).await?;
    row.ok_or_else(|| ErrorCode::NotFound.into())
}

/// Finds the one of these rows that has this token. Whatever is no token of theirs is the token of no row.
pub async fn find_among<E: Listed>(
    db: &impl ConnectionTrait,
    rows: Select<E>,
    token: &str,
) -> Result<Option<E::Model>, Error> {
    let Ok(id) = token.parse::<E::Id>() else { return Ok(None) };
    Ok(rows.filter(E::ID.eq(id)).one(db).await?)
}

/// The name of the subquery that gives the ids of the rows to look up.
const WANTED: &str = "wanted";

/// Selects those rows of an account that have these ids, in a statement whose text does not depend on their number.
pub fn rows<E: Listed>(
    backend: DbBackend,
    account: AccountToken,
    ids: impl IntoIterator<Item = Uuid>,
) -> Select<E> {
    let mut ids: Vec<Uuid> = ids.into_iter().collect();
    ids.sort_unstable();
    ids.dedup();
    rows_of(backend, account, id_table::<E>(backend, &ids))
}

/// Selects those rows of an account whose ids a query selects, each id once.
pub fn rows_of<E: Listed>(backend: DbBackend, account: AccountToken, ids: SelectStatement) -> Select<E> {
    let mut rows = E::owned_by(account);
    if backend != DbBackend::Postgres {
        return rows.filter(E::ID.in_subquery(ids));
    }
    let row = row::<E>(account, Expr::col((WANTED, E::ID)));
    let query = QueryTrait::query(&mut rows);
    query.from_clear().from_subquery(ids, WANTED);
    join(query, JoinType::InnerJoin, row, E::default());
    rows
}

/// Returns the query of the one row with an id that another part of a statement gives.
pub fn row<E: Listed>(account: AccountToken, id: impl Into<SimpleExpr>) -> SelectStatement {
    E::owned_by(account).filter(E::ID.into_expr().eq(id.into())).limit(1).into_query()
}

/// Joins the row that a query finds for each row before it, on PostgreSQL.
pub fn join(
    statement: &mut SelectStatement,
    join: JoinType,
    row: SelectStatement,
    name: impl sea_orm::sea_query::IntoIden,
) {
    statement.join_lateral(join, row, name, Expr::cust("TRUE"));
}

fn id_table<E: Listed>(backend: DbBackend, ids: &[Uuid]) -> SelectStatement {
    if backend == DbBackend::Postgres {
        let ids: Vec<_> = ids.iter().map(Uuid::to_string).collect();
        let array = format!("{{{}}}", ids.join(","));
        let each = Expr::cust_with_values("unnest(CAST($1 AS UUID[]))", [array]);
        return Query::select().expr_as(each, E::ID).take();
    }
    let ids: Vec<_> = ids.iter().map(|id| format!("\"{}\"", id.as_simple())).collect();
    let each = Func::cust("json_each").arg(format!("[{}]", ids.join(",")));
    let id = Func::cust("unhex").arg(Expr::col("value"));
    Query::select().expr(id).from_function(each, "told").take()
}
