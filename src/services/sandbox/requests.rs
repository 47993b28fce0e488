//! GET /sandbox/requests: the account's recent requests, and waits for the next ones (`docs/decisions.md`, 372).

use entity::logged_request::{self, Column};
use entity::{AccountToken, LoggedRequestToken, Owned};
use sea_orm::sea_query::{Expr, ExprTrait, Func};
use sea_orm::{ColumnTrait, Condition, PaginatorTrait, QueryFilter, QueryOrder, Select};
use tokio::sync::broadcast::Receiver;

use crate::error::{Error, ErrorCode};
use crate::params::Params;
use crate::params::logged_request::{RequestFilter, RequestSearch};
use crate::services::arrivals::wait_until;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::request_log::WrittenRequests;
use crate::views::logged_request::LoggedRequest;

/// A search in the log of an account.
pub struct LogSearch {
    account: AccountToken,
    /// The search, without faults.
    pub params: RequestSearch,
    /// The request that `since` names.
    after: Option<LoggedRequestToken>,
}

/// Begins a search, once the requests that this account has made so far are written.
///
/// Refusals: `invalid_resource`.
pub async fn search(
    ctx: &Context,
    account: &Account,
    params: Params<RequestSearch>,
) -> Result<LogSearch, Error> {
    let Params { value: params, mut faults } = params;
    ctx.request_log.write(&ctx.store, Some(account.id())).await?;
    let after = match &params.since {
        Some(since) if !faults.has("since") => {
            let id = newest(ctx, account, since).await?.map(|row| row.id);
            if id.is_none() {
                faults.add("since", "is not in the log");
            }
            id
        }
        Some(_) | None => None,
    };
    Ok(LogSearch { account: account.id(), params: Params { value: params, faults }.valid()?, after })
}

impl LogSearch {
    /// Returns what arrives from now on, if fewer requests match than the client waits for.
    pub async fn wanting(&self, ctx: &Context) -> Result<Option<Receiver<WrittenRequests>>, Error> {
        if self.params.waiting.at_most.is_zero() {
            return Ok(None);
        }
        // Before the look, so that nothing falls between.
        let arrivals = ctx.request_log.arrivals.watch(self.account);
        Ok((!self.is_satisfied(ctx).await?).then_some(arrivals))
    }

    /// Waits until enough requests match.
    pub async fn satisfied(&self, ctx: &Context, arrivals: Receiver<WrittenRequests>) -> Result<(), Error> {
        let is_any_match = |rows: &WrittenRequests| rows.iter().any(|row| is_match(&self.params.filter, row));
        wait_until(arrivals, is_any_match, move || self.is_satisfied(ctx)).await
    }

    async fn is_satisfied(&self, ctx: &Context) -> Result<bool, Error> {
        Ok(self.rows().count(ctx.store.read()).await? >= self.params.waiting.count)
    }

    /// Returns a page of the requests that match, newest first.
    pub async fn page(self, ctx: &Context) -> Result<ListPage<LoggedRequest>, Error> {
        let list = List::newest_first(self.account, self.rows());
        Ok(list.ranged(ctx, self.params.paging).await?.map(LoggedRequest::from))
    }

    fn rows(&self) -> Select<logged_request::Entity> {
        let rows = logged_request::Entity::owned_by(self.account).filter(condition(&self.params.filter));
        match self.after {
            Some(id) => rows.filter(Column::Id.gt(id)),
            None => rows,
        }
    }
}

/// Returns what the database compares; [`is_match`] is the same for a row in memory.
fn condition(filter: &RequestFilter) -> Condition {
    let RequestFilter { method, route, status, error, token } = filter;
    let token = token.as_deref().map(|token| {
        [Column::Path, Column::Parameters, Column::Error]
            .into_iter()
            .fold(Condition::any(), |any, column| any.add(contains(column, token)))
    });
    Condition::all()
        .add_option(method.map(|method| Column::Method.eq(method)))
        .add_option(route.as_deref().map(|route| Column::Route.eq(route)))
        .add_option(status.map(|status| Column::Status.eq(status)))
        .add_option(error.as_deref().map(|error| contains(Column::Error, &named(error))))
        .add_option(token)
}

fn is_match(filter: &RequestFilter, row: &logged_request::Model) -> bool {
    let RequestFilter { method, route, status, error, token } = filter;
    let of_error = |part: &str| row.error.as_ref().is_some_and(|error| error.as_str().contains(part));
    method.is_none_or(|method| row.method == method)
        && route.as_deref().is_none_or(|route| row.route == route)
        && status.is_none_or(|status| row.status == status)
        && error.as_deref().is_none_or(|error| of_error(&named(error)))
        && token.as_deref().is_none_or(|token| {
            row.path.contains(token) || row.parameters.as_str().contains(token) || of_error(token)
        })
}

/// Returns how a logged error holds its code. No text inside of it has unescaped quotation marks.
fn named(code: &str) -> String {
    format!("\"error\":\"{code}\",")
}

/// Compares letter by letter: LIKE has wildcards, and on SQLite no letter case.
fn contains(column: Column, part: &str) -> Expr {
    let without = Func::cust("replace").arg(Expr::col(column)).arg(part).arg("");
    Expr::expr(without).ne(Expr::col(column))
}

/// Returns a request by the id of its response; of several the newest.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, request_id: &str) -> Result<LoggedRequest, Error> {
    ctx.request_log.write(&ctx.store, Some(account.id())).await?;
    Ok(newest(ctx, account, request_id).await?.ok_or(ErrorCode::NotFound)?.into())
}

/// Finds the newest request whose response had this id.
async fn newest(
    ctx: &Context,
    account: &Account,
    request_id: &str,
) -> Result<Option<logged_request::Model>, Error> {
    // An id that no request can have may hold characters that a database does not take.
    if !request_id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(None);
    }
    let rows = logged_request::Entity::owned_by(account.id()).filter(Column::RequestId.eq(request_id));
    Ok(rows.order_by_desc(Column::Id).one(ctx.store.read()).await?)
}
