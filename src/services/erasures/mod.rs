//! Erasures: a customer's personal data is replaced wherever the server keeps it, while amounts, dates and tokens stay
//! (`docs/decisions.md`, 388).
//!
//! A row of `erasures` is the marker. Each pass walks from the beginning, in units of a few charges, and changes only what is
//! personal: so a killed one begins again, and two do no harm. A request that began before the customer's deletion may still add
//! rows; the last pass comes once none of them can be in flight. Then the customer is marked beside the files, because the
//! database may be restored to an older state: a start plans the marked ones again.

mod columns;
mod marks;
mod person;
pub mod view;

use entity::audit_entry::Action;
use entity::erasure::{self, Column};
use entity::{AccountToken, CustomerToken, JsonText, Listed, Owned, TimeSpan, Timestamp, logged_request};
use serde_json::json;
use store::Tx;

pub use self::columns::{COLUMNS, Columns, tables_of_customers};
pub use self::marks::{MARKS_REFUSED, repeat_marked};
use base::crash_points;

use self::person::{Batch, ChargesUnit, PARTS};
use crate::error::{Error, ErrorCode};
use crate::limits::ACCOUNT_QUIET_AFTER;
use crate::services::audit::{self, OperatorAction};
use crate::services::context::{Account, Context};
use crate::services::customers::delete::plan_erasure;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{DueRow, DueWork, WorkResult};
use crate::services::erasures::view::Erasure;
use crate::services::idempotency;

/// The time after which an erasure checks a customer with unfinished business again.
const ERASURE_POSTPONED: TimeSpan = TimeSpan::days(1);
/// The time after which an erasure repeats work that failed outside of the database.
const ERASURE_RETRIED: TimeSpan = TimeSpan::seconds(60);

/// Erases customers. One with unfinished business waits.
pub struct ErasureWork;

impl DueWork for ErasureWork {
    type Entity = erasure::Entity;
    const NAME: &'static str = "erasure";
    const DESTROYS: bool = true;
    const AT: Column = Column::DueAt;
    const ID: Column = Column::Id;

    fn subject(row: &erasure::Model) -> DueRow {
        let at = row.due_at.unwrap_or(row.quiet_at);
        DueRow::new(row.account_id, at, row.id)
    }

    async fn work(ctx: &Context, time: &WorkTime, row: erasure::Model) -> Result<WorkResult, Error> {
        let began = time.earliest(ctx);
        let (due_at, erased_at) = match pass(ctx, &row, began).await? {
            // Once begun, it stays so: a snapshot that is restored plans it anew.
            None => (Some(began + ERASURE_POSTPONED), row.erased_at),
            Some(_) if began < row.quiet_at => (Some(row.quiet_at), row.erased_at),
            Some(_) if finish(ctx, &row).await? => (None, Some(began)),
            Some(_) => (Some(began + ERASURE_RETRIED), Some(began)),
        };
        let next = erasure::Model { due_at, erased_at, ..row.clone() };
        let unit = time.write(ctx, (row, next), async |tx, (row, next)| {
            let is_next = tx.compare_and_swap(row, next, &[Column::DueAt]).await?;
            Ok(is_next.then_some(WorkResult::Silent))
        });
        unit.await.map(WorkResult::from)
    }
}

/// Marks the customer, and empties the database's log. Returns whether both succeeded.
async fn finish(ctx: &Context, row: &erasure::Model) -> Result<bool, Error> {
    if let Err(error) = ctx.blobs.put_mark(marks::signed(&ctx.vault, row.account_id, row.id)).await {
        tracing::error!(%error, "an erasure cannot be marked; the worker will retry");
        return Ok(false);
    }
    Ok(ctx.store.empty_log().await?)
}

/// Erases all that the database has by now; `None` while there is unfinished business with the customer. One that an older copy has
/// brought back is deleted again at once, so that no new business begins.
async fn pass(ctx: &Context, row: &erasure::Model, now: Timestamp) -> Result<Option<Batch>, Error> {
    let begun = ctx.store.write((row.clone(), now), async |tx, (row, now)| {
        person::delete_customer(tx, row, *now).await?;
        person::business(tx, row.account_id, row.id, *now).await
    });
    if begun.await?.is_some() {
        return Ok(None);
    }
    erase_rows(ctx, row).await.map(Some)
}

/// Erases what the database has of a deleted customer.
async fn erase_rows(ctx: &Context, row: &erasure::Model) -> Result<Batch, Error> {
    let (account, customer) = (row.account_id, row.id);
    let mut done = Batch::default();
    for part in PARTS {
        let mut after = None;
        loop {
            let unit = ChargesUnit { account, customer, part, after, wall: ctx.clock.now() };
            let batch = ctx.store.write(unit, async |tx, unit| unit.record(tx).await).await?;
            crash_points::point("erasure", "batch.after");
            done.charges += batch.charges;
            done.events += batch.events;
            done.files += batch.files;
            after = batch.last;
            if after.is_none() {
                break;
            }
        }
    }
    let events = ctx.store.write((account, customer), async |tx, (account, customer)| {
        person::erase_events(tx, *account, &customer.to_string()).await
    });
    done.events += events.await?;
    erase_copies(ctx, row).await?;
    Ok(done)
}

/// Erases what repeats requests and events: kept responses, deliveries to inboxes, and the log of requests, which does not say whose
/// data its entries show, so that all go.
async fn erase_copies(ctx: &Context, row: &erasure::Model) -> Result<(), Error> {
    // With the cards that the customer's deletion has added.
    let row = erasure::Entity::at(row.account_id, row.id).one(ctx.store.read()).await?;
    let row = row.ok_or(ErrorCode::NotFound)?;
    let account = row.account_id;
    let ids = person::ids(ctx.store.read(), &row).await?;
    let rewrite = |body: &str| {
        let names = ids.iter().any(|id| body.contains(id.as_str()));
        if names { columns::erased_json(body) } else { None }
    };
    idempotency::rewrite_responses(ctx, account, &rewrite).await?;
    let mut after = None;
    loop {
        let batch = (account, ids.clone(), after);
        let batch = ctx.store.write(batch, async |tx, (account, ids, after)| {
            person::erase_deliveries(tx, *account, ids, *after).await
        });
        after = batch.await?;
        if after.is_none() {
            break;
        }
    }
    ctx.memory.request_log.write(&ctx.store, Some(account)).await?;
    ctx.delete(logged_request::Entity::delete_of(account)).await
}

/// Erases a customer for the operator. One that is not deleted yet is. A last pass, which a server makes, follows soon.
///
/// Refusals, first match wins: `not_found`, `invalid_state` if there is unfinished business with the customer.
pub async fn erase(ctx: &Context, account: &Account, token: &str) -> Result<Erasure, Error> {
    let customer: CustomerToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let begin = BeginErasureUnit { account: account.id(), customer, now: account.now };
    let row = ctx.store.write(begin, async |tx, begin| begin.record(tx).await).await?;
    let Batch { charges, events, files, .. } = erase_rows(ctx, &row).await?;
    Ok(Erasure { token: customer, account: account.id(), charges, events, files, ends_at: row.quiet_at })
}

struct BeginErasureUnit {
    account: AccountToken,
    customer: CustomerToken,
    now: Timestamp,
}

impl BeginErasureUnit {
    async fn record(&self, tx: &Tx) -> Result<erasure::Model, Error> {
        let Self { account, customer, now } = *self;
        person::lock_customer(tx, account, customer).await?;
        if !person::is_known(tx, account, customer).await? {
            return Err(ErrorCode::NotFound.into());
        }
        if let Some(business) = person::business(tx, account, customer, now).await? {
            return Err(Error::explained(ErrorCode::InvalidState, business));
        }
        let known = erasure::Entity::at(account, customer).one(tx).await?;
        let cards = known.map_or_else(|| JsonText::encode(&[(); 0]), |known| Ok(known.cards))?;
        // The pass of this command comes first; the worker's is the last one.
        let row =
            plan_erasure(tx, (account, customer), cards, (now, now + ACCOUNT_QUIET_AFTER), None).await?;
        let subject = customer.to_string();
        audit::record(tx, &OperatorAction::about(Action::CustomerErased, account, subject, json!({})))?;
        person::delete_customer(tx, &row, now).await?;
        Ok(row)
    }
}
