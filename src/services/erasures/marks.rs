//! The marks of erased customers, beside the files: they say which erasures a database has lost that was put back from an older
//! copy.

use std::collections::HashSet;

use entity::erasure::{self, Column};
use entity::{CustomerToken, JsonText, Owned, account};
use futures::FutureExt;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect};

use crate::blobs::Mark;
use crate::error::Error;
use crate::services::context::Context;
use crate::services::customers::delete::plan_erasure;

/// Plans the marked erasures that the database has not done; they are due at once. Returns how many.
pub async fn repeat_marked(ctx: &Context) -> Result<usize, Error> {
    let marks = ctx.blobs.marks().await.map_err(|error| Error::internal(format!("marks: {error}")))?;
    let mut planned = 0;
    let accounts: HashSet<_> = marks.iter().map(|mark| mark.account).collect();
    for account in accounts {
        if account::Entity::find_by_id(account).one(ctx.store.read()).await?.is_none() {
            continue;
        }
        let done = erasure::Entity::owned_by(account).filter(Column::ErasedAt.is_not_null());
        let done = done.select_only().column(Column::Id).into_tuple().all(ctx.store.read()).await?;
        let done: HashSet<CustomerToken> = done.into_iter().collect();
        let lost = marks.iter().filter(|mark| mark.account == account && !done.contains(&mark.customer));
        for mark in lost {
            plan(ctx, *mark).await?;
            planned += 1;
        }
    }
    Ok(planned)
}

async fn plan(ctx: &Context, mark: Mark) -> Result<(), Error> {
    // No account's clock is behind the wall clock.
    let unit = ctx.store.write((mark, ctx.clock.now()), |tx, (mark, wall)| {
        async move {
            let cards = JsonText::of(&[(); 0])?;
            plan_erasure(tx, (mark.account, mark.customer), cards, (*wall, *wall)).await
        }
        .boxed()
    });
    unit.await.map(drop)
}
