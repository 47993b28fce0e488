//! Restores a snapshot on SQLite, in many small commits: its only writer serves other accounts between them.
//!
//! The first commit marks the account and raises a fence, behind which no request and no worker reads or changes its rows. The
//! last one replaces the account's own row and removes the mark. A server that finds a mark at its start restores the snapshot
//! from the beginning, before it serves anybody. So nobody ever sees the account half restored.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::crash_points;
use entity::account::{self, Column};
use entity::{AccountToken, ChargeToken, Listed, SnapshotToken, Timestamp, charge, installation, snapshot};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use store::Tx;
use tokio::time::sleep;

use super::restore::{AccountContents, LAST, OTHER_RELEASE, life, read, refuse};
use crate::error::{Error, ErrorCode};
use crate::services::accounts::snapshot_rows::SnapshotTable;
use crate::services::accounts::{settings, wipe};
use crate::services::context::{Caller, Context};
use crate::services::idempotency;
use crate::services::idempotency::claim::IdempotencyClaim;
use crate::services::installation::{restoring, restoring_mark};
use crate::services::search_text::rebuild;
use crate::services::snapshots::view::Snapshot;

/// The number of rows that one commit deletes, or of charges whose words it replaces: a few milliseconds of the writer.
const PART: u64 = 200;
/// The pause before the restore begins again after a failure of the database.
const PAUSE: Duration = Duration::from_secs(1);
/// Tables whose rows requests and workers do read meanwhile: a request with an Idempotency-Key reads it with its account, and all
/// that it then does is refused.
const OPEN: [&str; 2] = ["idempotency_answers", "idempotency_keys"];

struct MarkedRestore {
    row: snapshot::Model,
    /// The number of the account's clock moves and of its charges' attempts.
    life: i32,
    contents: Arc<AccountContents>,
}

/// Restores a snapshot for a request.
///
/// Refusals: `unauthorized`, `clock_moving`, `payments_under_way`, `not_found`, and `service_unavailable` while another restore of the
/// account goes on.
pub(super) async fn restore(
    ctx: &Context,
    caller: &Caller,
    row: snapshot::Model,
    contents: AccountContents,
) -> Result<Snapshot, Error> {
    let (owner, is_fenced) = (row.account_id, Arc::new(AtomicBool::new(false)));
    let marking = (row.clone(), contents.wall, caller.claim.clone(), Arc::clone(&is_fenced));
    let begun = ctx.store.write(marking, async |tx, (row, wall, claim, is_fenced)| {
        mark(tx, row, (*wall, claim.as_deref()), is_fenced).await
    });
    let life = match begun.await {
        Ok(life) => life,
        Err(error) => {
            while is_fenced.load(Ordering::SeqCst)
                && let Err(failed) = abandon(ctx, &row).await
            {
                wait_after(ctx, &row, &failed).await?;
            }
            return Err(error);
        }
    };
    crash_points::point("restore", "mark.after");
    let marked = MarkedRestore::new(row, life, contents);
    let restored = loop {
        let finish = (marked.row.clone(), Arc::clone(&marked.contents), life);
        let done = async {
            marked.replace_rows(ctx).await?;
            idempotency::write_exclusively(ctx, caller, finish, async |tx, (row, contents, life)| {
                finish_in(tx, row, contents, *life).await
            })
            .await
        };
        match done.await {
            Ok(restored) => break restored,
            Err(error) if wipe::is_deleted(&error) => {
                while let Err(failed) = abandon(ctx, &marked.row).await {
                    wait_after(ctx, &marked.row, &failed).await?;
                }
                return Err(error);
            }
            Err(error) => wait_after(ctx, &marked.row, &error).await?,
        }
        // The answer to the last commit may have been lost.
        let marks = restoring(ctx.store.read()).await;
        if marks.is_ok_and(|marks| !marks.contains(&(owner, marked.row.id))) {
            break marked.row.clone().into();
        }
    };
    ctx.store.lift_fence(owner);
    Ok(restored)
}

/// Restores the snapshots that a stopped server had begun to restore. Only for a server that knows that it is the only one, and before it
/// serves anybody. An account whose snapshot cannot be restored stays behind its fence; the others are served.
pub async fn resume(ctx: &Context) -> Result<(), Error> {
    for (owner, snapshot) in restoring(ctx.store.read()).await? {
        match finish_restore(ctx, owner, snapshot).await {
            Ok(()) => {
                tracing::info!(%owner, %snapshot, "a snapshot was restored that a stopped server had begun to restore");
            }
            Err(error) => {
                ctx.store.raise_fence(owner, tables());
                tracing::error!(%error, %owner, %snapshot, "the account is refused: its snapshot is not restored yet");
            }
        }
    }
    Ok(())
}

async fn finish_restore(ctx: &Context, owner: AccountToken, snapshot: SnapshotToken) -> Result<(), Error> {
    let row = snapshot::Entity::at(owner, snapshot).one(ctx.store.read()).await?;
    let row = row.ok_or_else(|| Error::internal("a marked snapshot is gone"))?;
    let account = account::Entity::find_by_id(owner).one(ctx.store.read()).await?;
    let Some(account) = account.filter(|account| account.closed_at.is_none()) else {
        return abandon(ctx, &row).await;
    };
    if row.schema_steps != store::schema_steps() {
        return Err(Error::explained(ErrorCode::InvalidState, OTHER_RELEASE));
    }
    let contents = read(ctx, &row).await?;
    let marked = MarkedRestore::new(row, account.clock_moves, contents);
    ctx.store.raise_fence(owner, tables());
    marked.replace_rows(ctx).await?;
    let finish = (marked.row, marked.contents, marked.life);
    let finish =
        ctx.store.write(finish, async |tx, (row, contents, life)| finish_in(tx, row, contents, *life).await);
    finish.await?;
    ctx.store.lift_fence(owner);
    Ok(())
}

/// Returns the tables behind the fence.
fn tables() -> Vec<&'static str> {
    let kept = ["snapshots", "snapshot_parts", "snapshot_files"];
    wipe::copied().map(SnapshotTable::name).filter(|table| !OPEN.contains(table)).chain(kept).collect()
}

/// Marks the account and raises its fence, if it can be restored now. Returns the number of its clock's moves, above all earlier ones.
async fn mark(
    tx: &Tx,
    row: &snapshot::Model,
    (wall, claim): (Timestamp, Option<&IdempotencyClaim>),
    is_fenced: &AtomicBool,
) -> Result<i32, Error> {
    // A unit of the same batch that comes later is refused by the fence, not undone with it.
    tx.require_exclusive().await?;
    if is_fenced.load(Ordering::SeqCst) {
        tx.pass_fence(row.account_id).await?;
    }
    let owner = refuse(tx, row, wall, claim).await?;
    let life = life(tx, &owner).await?;
    let marked = settings::update_of(owner.id)
        .col_expr(Column::ClockMoves, Expr::value(life))
        .col_expr(Column::MovingUntil, Expr::value(None::<i64>));
    marked.exec(tx).await?;
    tx.append(&restoring_mark(owner.id, row.id));
    tx.raise_fence(owner.id, tables()).await?;
    is_fenced.store(true, Ordering::SeqCst);
    Ok(life)
}

/// Removes the mark of a restore that has changed no row, or whose account is deleted, and lifts the fence.
async fn abandon(ctx: &Context, row: &snapshot::Model) -> Result<(), Error> {
    let mark = restoring_mark(row.account_id, row.id);
    ctx.delete(installation::Entity::delete_many().filter(installation::Column::Name.eq(mark.name))).await?;
    ctx.store.lift_fence(row.account_id);
    Ok(())
}

/// Replaces the account's own row and what is replaced last, and removes the mark.
async fn finish_in(
    tx: &Tx,
    row: &snapshot::Model,
    contents: &AccountContents,
    life: i32,
) -> Result<Snapshot, Error> {
    let owner = settings::lock_account(tx, row.account_id).await?.id;
    tx.pass_fence(owner).await?;
    contents.finish(tx, owner, life).await?;
    installation::Entity::delete_by_id(restoring_mark(owner, row.id).name).exec(tx).await?;
    crash_points::point("restore", "finish.before");
    Ok(row.clone().into())
}

impl MarkedRestore {
    fn new(row: snapshot::Model, life: i32, mut contents: AccountContents) -> Self {
        let mut attempt = |row: &mut dyn Any| {
            if let Some(charge) = row.downcast_mut::<charge::Model>() {
                charge.attempt = life;
            }
        };
        contents.rows.iter_mut().for_each(|rows| rows.change(&mut attempt));
        Self { row, life, contents: Arc::new(contents) }
    }

    /// Replaces the rows of all tables but the last ones, however far an earlier try has come.
    async fn replace_rows(&self, ctx: &Context) -> Result<(), Error> {
        let owner = self.row.account_id;
        for table in wipe::copied().filter(|table| !LAST.contains(&table.name())) {
            let some = || {
                ctx.store.write((owner, table), async |tx, (owner, table)| {
                    tx.pass_fence(*owner).await?;
                    table.clear_some(tx, *owner, PART).await
                })
            };
            while some().await? >= PART {}
        }
        let words = || ctx.store.write(owner, async |tx, owner| remove_words(tx, *owner).await);
        while words().await? >= PART {}
        for (n, rows) in self.contents.rows.iter().enumerate() {
            if LAST.contains(&rows.table()) {
                continue;
            }
            let page = (owner, Arc::clone(&self.contents), n);
            let put = ctx.store.write(page, async |tx, (owner, contents, n)| {
                tx.pass_fence(*owner).await?;
                contents.rows[*n].put(tx).await
            });
            put.await?;
            crash_points::point("restore", "part.after");
        }
        let mut after = None;
        while let Some(last) = ctx
            .store
            .write((owner, after), async |tx, (owner, after)| add_words(tx, *owner, *after).await)
            .await?
        {
            after = Some(last);
        }
        Ok(())
    }
}

/// Waits before the next try. Fails if the process ends: the next one goes on.
async fn wait_after(ctx: &Context, row: &snapshot::Model, error: &Error) -> Result<(), Error> {
    tracing::error!(
        %error, owner = %row.account_id, snapshot = %row.id,
        "a snapshot is not restored yet; its account is refused meanwhile"
    );
    if ctx.tasks.is_closed() {
        return Err(ErrorCode::ServiceUnavailable.into());
    }
    sleep(PAUSE).await;
    Ok(())
}

async fn remove_words(tx: &Tx, owner: AccountToken) -> Result<u64, Error> {
    tx.pass_fence(owner).await?;
    rebuild::remove_some(tx, owner, PART).await
}

async fn add_words(
    tx: &Tx,
    owner: AccountToken,
    after: Option<ChargeToken>,
) -> Result<Option<ChargeToken>, Error> {
    tx.pass_fence(owner).await?;
    rebuild::add_some(tx, owner, after, PART).await
}
