//! DELETE /files/{file_token}: open batches lose the file, submitted ones keep it.

use entity::{AccountToken, FileToken, Listed, Owned, Timestamp, evidence, file};
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use store::Tx;

use super::transitions::lock_dispute;
use crate::error::{Error, ErrorCode};
use crate::services::context::{Caller, Context};
use crate::services::{files, idempotency};

/// Deletes a file. A batch of evidence that is not submitted loses it.
///
/// Refusals, first match wins: `not_found`, `dispute_evidence_already_submitted`.
pub async fn delete(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    let file = files::find::by_token(ctx, &caller.account, token).await?;
    let deletion = (caller.account.id(), file.id, ctx.clock.now());
    idempotency::write(ctx, caller, deletion, async |tx, &(account, id, wall)| {
        gone(tx, account, id, wall).await
    })
    .await
}

async fn gone(tx: &Tx, account: AccountToken, id: FileToken, wall: Timestamp) -> Result<(), Error> {
    use evidence::Column;

    // The lock keeps other units from adding the file to a batch.
    let file = file::Entity::at(account, id);
    if file.lock(LockType::NoKeyUpdate).one(tx).await?.is_none() {
        return Err(ErrorCode::NotFound.into());
    }
    let naming = evidence::Entity::owned_by(account).filter(Column::FileId.eq(id));
    let naming = naming.order_by_asc(Column::DisputeId).all(tx).await?;
    for evidence in &naming {
        if lock_dispute(tx, account, evidence.dispute_id).await?.submitted_at.is_some() {
            return Err(ErrorCode::DisputeEvidenceAlreadySubmitted.into());
        }
    }
    let forgotten = evidence::Entity::update_of(account)
        .filter(Column::FileId.eq(id))
        .col_expr(Column::FileId, Expr::value(None::<uuid::Uuid>));
    forgotten.exec(tx).await?;
    let empty = evidence::Entity::delete_of(account)
        .filter(Column::DisputeId.is_in(naming.iter().map(|evidence| evidence.dispute_id)))
        .filter(Column::FileId.is_null())
        .filter(Column::Text.is_null());
    empty.exec(tx).await?;
    files::remove(tx, account, id, wall).await
}
