//! GET /sandbox/requests: the account's recent requests.

use entity::Owned;
use entity::logged_request::{self, Column};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder};

use crate::error::{Error, ErrorCode};
use crate::params::{Paging, Params};
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::views::logged_request::LoggedRequest;

/// Lists the account's recent requests, newest first.
///
/// Refusals: `invalid_resource`.
pub async fn list(
    ctx: &Context,
    account: &Account,
    paging: Params<Paging>,
) -> Result<ListPage<LoggedRequest>, Error> {
    let paging = paging.valid()?;
    ctx.request_log.write(&ctx.store, Some(account.id())).await?;
    let rows = logged_request::Entity::owned_by(account.id());
    Ok(List::newest_first(account.id(), rows).ranged(ctx, paging).await?.map(LoggedRequest::from))
}

/// Returns a request by the id of its response; of several the newest.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, request_id: &str) -> Result<LoggedRequest, Error> {
    ctx.request_log.write(&ctx.store, Some(account.id())).await?;
    // An id that no request can have may hold characters that a database does not take.
    let printable = Some(request_id).filter(|id| id.bytes().all(|byte| byte.is_ascii_graphic()));
    let row = logged_request::Entity::owned_by(account.id())
        .filter(Column::RequestId.eq(printable.ok_or(ErrorCode::NotFound)?))
        .order_by_desc(Column::Id)
        .one(ctx.store.read())
        .await?;
    Ok(row.ok_or(ErrorCode::NotFound)?.into())
}
