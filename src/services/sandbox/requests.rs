//! GET /sandbox/requests: the account's recent requests, and waits for the next ones (`docs/decisions.md`, 372).

use entity::logged_request::{self, Column};
use entity::{AccountToken, LoggedRequestToken, Owned};
use sea_orm::sea_query::{Expr, ExprTrait, Func};
use sea_orm::{ColumnTrait, Condition, PaginatorTrait, QueryFilter, QueryOrder, Select};

use crate::error::{Error, ErrorCode};
use crate::params::{Params, Waiting};
use crate::services::context::{Account, Context};
use crate::services::memory::arrivals::{Topic, Wanted};
use crate::services::page::{AwaitedList, List, ListPage};
use crate::services::sandbox::request_params::{RequestFilter, RequestSearch};
use crate::services::sandbox::request_view::LoggedRequest;

pub struct LogSearch {
    account: AccountToken,
    /// The search, without faults.
    params: RequestSearch,
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
    ctx.memory.request_log.write(&ctx.store, Some(account.id())).await?;
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

impl AwaitedList for LogSearch {
    type Record = LoggedRequest;
    const TOPIC: Topic = Topic::Requests;

    fn account(&self) -> AccountToken {
        self.account
    }

    fn waiting(&self) -> Waiting {
        self.params.waiting
    }

    fn wanted(&self) -> Wanted {
        // Not the token, which may be anywhere in the request.
        let RequestFilter { method, route, status, error, token: _ } = &self.params.filter;
        Wanted::default()
            .with(method.map(|method| [method]))
            .with(route.clone().map(|route| [route]))
            .with(status.map(|status| [status.to_string()]))
            .with(error.clone().map(|error| [error]))
    }

    async fn size(&self, ctx: &Context) -> Result<u64, Error> {
        Ok(self.rows().count(ctx.store.read()).await?)
    }

    /// Returns a page of the requests that match, newest first.
    async fn page(&self, ctx: &Context) -> Result<ListPage<LoggedRequest>, Error> {
        let list = List::newest_first(self.account, self.rows());
        Ok(list.ranged(ctx, self.params.paging).await?.map(LoggedRequest::from))
    }
}

impl LogSearch {
    fn rows(&self) -> Select<logged_request::Entity> {
        let rows = logged_request::Entity::owned_by(self.account).filter(condition(&self.params.filter));
        match self.after {
            Some(id) => rows.filter(Column::Id.gt(id)),
            None => rows,
        }
    }
}

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
    ctx.memory.request_log.write(&ctx.store, Some(account.id())).await?;
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
