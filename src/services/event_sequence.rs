//! Numbers events within their account, in the order in which they become visible (`docs/decisions.md`, 374).
//!
//! A commit leaves its events without numbers, so that no payment waits for a counter. A reader of events first numbers all
//! that are committed by then, and shows no others. So a client that has seen a number never sees a smaller one for the first time.

use std::collections::HashSet;

use entity::event::Column;
use entity::{AccountToken, EventToken, Owned, event, event_sequence};
use futures::future::join_all;
use sea_orm::sea_query::{LockBehavior, LockType, OnConflict};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder,
    QuerySelect, Select, Statement,
};
use store::{Tx, about};

use super::context::Context;
use crate::error::Error;
use crate::limits::EVENTS_NUMBERED_AT_ONCE;

/// The behaviour while another copy numbers the same account.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfLocked {
    Wait,
    Skip,
}

/// Numbers the events of an account that are committed by now.
pub async fn number(ctx: &Context, account: AccountToken) -> Result<(), Error> {
    number_or(ctx, account, IfLocked::Wait).await
}

/// Numbers the events of some accounts that are committed by now. Returns the accounts whose events have numbers: the others must not
/// wait for one whose rows are locked.
pub async fn number_all(
    ctx: &Context,
    accounts: impl IntoIterator<Item = AccountToken>,
) -> HashSet<AccountToken> {
    let numbering = accounts.into_iter().map(async |account| {
        let numbered = number(ctx, account).await;
        numbered.inspect_err(|error| tracing::error!(%error, %account, "events have no numbers yet")).ok()?;
        Some(account)
    });
    join_all(numbering).await.into_iter().flatten().collect()
}

/// Numbers the events that this process has committed, so that readers find little to number. Skips accounts that another copy numbers.
pub async fn number_committed(ctx: &Context) -> Result<(), Error> {
    let unnumbered = ctx.memory.event_sequences.take_unnumbered();
    let mut numbered = Ok(());
    for account in unnumbered {
        if let Err(error) = number_or(ctx, account, IfLocked::Skip).await {
            ctx.memory.event_sequences.add_unnumbered(account);
            numbered = Err(error);
        }
    }
    numbered
}

/// Returns a number that changes whenever another process has written to SQLite's file; `None` on PostgreSQL, where copies announce what
/// they commit.
pub async fn foreign_writes(ctx: &Context) -> Result<Option<i64>, Error> {
    if ctx.store.backend() == DbBackend::Postgres {
        return Ok(None);
    }
    let unit = ctx.store.write((), async |tx, ()| {
        // As the only connection sees it that writes in this process.
        let version = Statement::from_string(DbBackend::Sqlite, "PRAGMA data_version");
        Ok(tx.query_one_raw(version).await?.map(|row| row.try_get_by_index(0)).transpose()?)
    });
    unit.await
}

/// Returns the last number that an account has given.
pub async fn last(ctx: &Context, account: AccountToken) -> Result<i64, Error> {
    let db = ctx.store.read();
    let row = event_sequence::Entity::owned_by(account).one(db).await?;
    Ok(Ord::max(row.map_or(0, |row| row.last), highest(db, account).await?))
}

/// Returns the highest number of an account's events. Those of an account that was brought from elsewhere have theirs.
async fn highest(db: &impl ConnectionTrait, account: AccountToken) -> Result<i64, Error> {
    let numbered = event::Entity::owned_by(account).filter(Column::Sequence.is_not_null());
    let highest = numbered.order_by_desc(Column::Sequence).limit(1).select_only().column(Column::Sequence);
    Ok(highest.into_tuple::<i64>().one(db).await?.unwrap_or_default())
}

/// Notes the highest number of the events that an account was brought with: once they are deleted, it is not given again.
pub async fn note_highest(tx: &Tx, account: AccountToken) -> Result<(), Error> {
    let last =
        locked(tx, account, IfLocked::Wait).await?.unwrap_or_default().max(highest(tx, account).await?);
    let update =
        event_sequence::Entity::update_of(account).col_expr(event_sequence::Column::Last, last.into());
    update.exec(tx).await?;
    Ok(())
}

async fn number_or(ctx: &Context, account: AccountToken, if_locked: IfLocked) -> Result<(), Error> {
    if ctx.store.is_fenced(account) || !lacks_numbers(ctx, account).await? {
        return Ok(());
    }
    let _lock = ctx.memory.event_sequences.lock_of(account).lock().await;
    while lacks_numbers(ctx, account).await? {
        let unit = ctx.store.write((account, if_locked), async |tx, (account, if_locked)| {
            number_some(tx, *account, *if_locked).await
        });
        let Some(numbered) = unit.await? else {
            // It may number other events than these.
            ctx.memory.event_sequences.add_unnumbered(account);
            break;
        };
        if numbered < EVENTS_NUMBERED_AT_ONCE {
            break;
        }
    }
    Ok(())
}

async fn lacks_numbers(ctx: &Context, account: AccountToken) -> Result<bool, Error> {
    let one = unnumbered(account).limit(1).into_tuple::<EventToken>();
    Ok(one.one(ctx.store.read()).await?.is_some())
}

/// Finds the ids of the events without numbers.
pub(super) fn unnumbered(account: AccountToken) -> Select<event::Entity> {
    event::Entity::owned_by(account).filter(Column::Sequence.is_null()).select_only().column(Column::Id)
}

/// Numbers a batch, in the order of ids, and returns its size. First takes the last number, which orders the copies that number; `None`
/// if another copy has it and is not waited for.
async fn number_some(tx: &Tx, account: AccountToken, if_locked: IfLocked) -> Result<Option<u64>, Error> {
    let Some(last) = locked(tx, account, if_locked).await? else { return Ok(None) };
    let last = last.max(highest(tx, account).await?);
    let batch = unnumbered(account).order_by_asc(Column::Sequence).order_by_asc(Column::Id);
    let batch = batch.limit(EVENTS_NUMBERED_AT_ONCE).into_tuple::<EventToken>().all(tx).await?;
    if batch.is_empty() {
        return Ok(Some(0));
    }
    // Not by a query inside of the update: databases then read all events without numbers, of which an upgrade has many, for a batch.
    let row = |(id, sequence): (&EventToken, i64)| vec![account.into(), (*id).into(), sequence.into()];
    let rows: Vec<_> = batch.iter().zip(last + 1..).map(row).collect();
    // One that is deleted meanwhile leaves a gap.
    let last = last + i64::try_from(rows.len()).unwrap_or_default();
    let statement = "UPDATE events SET sequence = v.sequence FROM v \
        WHERE events.account_id = v.account_id AND events.id = v.id AND events.sequence IS NULL";
    let columns = ["account_id", "id", "sequence"];
    tx.execute_raw(about(tx.get_database_backend(), &columns, rows, statement)).await?;
    let update =
        event_sequence::Entity::update_of(account).col_expr(event_sequence::Column::Last, last.into());
    update.exec(tx).await?;
    Ok(Some(batch.len() as u64))
}

/// Locks and returns an account's last number. `None` if another copy has it locked and is not waited for.
async fn locked(tx: &Tx, account: AccountToken, if_locked: IfLocked) -> Result<Option<i64>, Error> {
    let mut row = event_sequence::Entity::owned_by(account);
    match (tx.get_database_backend(), if_locked) {
        (DbBackend::Postgres, IfLocked::Wait) => row = row.lock(LockType::NoKeyUpdate),
        (DbBackend::Postgres, IfLocked::Skip) => {
            row = row.lock_with_behavior(LockType::NoKeyUpdate, LockBehavior::SkipLocked);
        }
        _ => {}
    }
    if let Some(row) = row.clone().one(tx).await? {
        return Ok(Some(row.last));
    }
    let first = event_sequence::Model { account_id: account, last: 0 }.into_active_model();
    let first = event_sequence::Entity::insert(first).on_conflict(OnConflict::new().do_nothing().to_owned());
    first.exec_without_returning(tx).await?;
    Ok(row.one(tx).await?.map(|row| row.last))
}
