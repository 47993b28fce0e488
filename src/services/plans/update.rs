//! PUT /plans/{token}.

use entity::Owned;
use entity::plan::{self, Column};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use store::Tx;

use super::find::by_token;
use crate::error::{Error, ErrorCode};
use crate::params::Params;
use crate::services::context::{Caller, Context};
use crate::services::idempotency;
use crate::services::plans::params::PlanChanges;
use crate::services::plans::view::Plan;

/// Changes a plan's name or its customers' permissions. Its prices never change.
///
/// Refusals, first match wins: `not_found`, `unprocessable_entity`.
pub async fn update(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    params: Params<PlanChanges>,
) -> Result<Plan, Error> {
    let row = by_token(ctx.store.read(), &caller.account, token).await?.ok_or(ErrorCode::NotFound)?;
    let changes = params.valid().map_err(Error::plan)?;
    idempotency::write(ctx, caller, (row, changes), async |tx, (row, changes)| record(tx, row, changes).await)
        .await
}

async fn record(tx: &Tx, seen: &plan::Model, changes: &PlanChanges) -> Result<Plan, Error> {
    let this = || Column::AccountId.eq(seen.account_id).and(Column::Id.eq(seen.id));
    // Without a new name, write the current one: the update locks the row, so the counts read below are current.
    let name = changes.name.as_ref().map_or(Expr::col(Column::Name), |name| Expr::value(name.as_str()));
    let mut update = plan::Entity::update_many()
        .filter(this())
        .filter(Column::DeletedAt.is_null())
        .col_expr(Column::Name, name);
    if let Some(allowed) = &changes.customer_permissions {
        update = update.col_expr(Column::CustomerMayCancel, Expr::value(!allowed.is_empty()));
    }
    if update.exec(tx).await?.rows_affected == 0 {
        return Err(ErrorCode::NotFound.into());
    }
    let row = plan::Entity::owned_by(seen.account_id).filter(this()).one(tx).await?;
    Ok(row.ok_or(ErrorCode::NotFound)?.into())
}
