//! Leases webhooks: a process delivers only the webhooks it has leased. The search locks nothing; if two processes find
//! the same webhook, a compare-and-set on the attempt gives it to one of them.

use std::collections::HashSet;

use base::mutants::{self, Mutant};
use entity::webhook::{self, COLUMN, Column, WebhookState};
use entity::{
    AccountToken, EventToken, JsonText, TimeSpan, Timestamp, WebhookEndpointToken, WebhookToken, event,
};
use futures::future::join_all;
use sea_orm::sea_query::{Expr, ExprTrait, ValueType};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, PaginatorTrait, QueryFilter, QueryOrder,
    QueryResult, QuerySelect, Select, Value,
};
use store::about;
use uuid::Uuid;

use super::deliver::LeasedWebhook;
use super::outbox::{OutboxEvent, its_webhook};
use crate::error::Error;
use crate::limits::{WEBHOOK_BATCH, WEBHOOK_LEASE};
use crate::services::context::Context;
use crate::services::due_work::clocks;
use crate::services::event_sequence;
use crate::services::events::view::Event;
use crate::services::webhook_endpoints::keys::SealedKeys;

/// A webhook that is due and not leased.
#[derive(Debug, Clone, Copy)]
pub struct DueWebhook {
    /// The endpoint that receives it.
    pub endpoint: WebhookEndpointToken,
    account: AccountToken,
    webhook: WebhookToken,
    attempt: i32,
    due_at: Option<Timestamp>,
}

/// Finds due, unleased webhooks, oldest first, except those of endpoints that already have enough. Returns at most one
/// batch for each kind of clock.
pub async fn due(ctx: &Context, busy: &[WebhookEndpointToken]) -> Result<Vec<DueWebhook>, Error> {
    let mut found = Vec::new();
    for rows in free(ctx) {
        let rows = ctx
            .store
            .unfenced(rows)
            .filter(Column::EndpointId.is_not_in(busy.iter().copied()))
            .order_by_asc(Column::DueAt)
            .limit(WEBHOOK_BATCH as u64);
        found.extend(rows.all(ctx.store.read()).await?.into_iter().map(|row| DueWebhook {
            endpoint: row.endpoint_id,
            account: row.account_id,
            webhook: row.id,
            attempt: row.attempt,
            due_at: row.due_at,
        }));
    }
    found.retain(|it| !ctx.store.is_fenced(it.account));
    Ok(found)
}

/// Counts the webhooks that are due and not leased.
pub async fn waiting(ctx: &Context) -> Result<u64, Error> {
    let mut waiting = 0;
    for rows in free(ctx) {
        waiting += rows.count(ctx.store.read()).await?;
    }
    Ok(waiting)
}

fn free(ctx: &Context) -> impl Iterator<Item = Select<webhook::Entity>> {
    let wall = ctx.clock.now();
    let mut nobodys = Column::LeasedUntil.is_null();
    if !mutants::is(Mutant::WebhookLeasedForever) {
        nobodys = nobodys.or(COLUMN.leased_until.lte(wall));
    }
    let free = clocks::select_due(&webhook::Entity::find().filter(nobodys), Column::DueAt, wall);
    clocks::visible_clocks(ctx, free)
}

/// Leases the webhooks found, except those that another process has leased meanwhile.
pub async fn lease(ctx: &Context, found: Vec<DueWebhook>) -> Result<Vec<LeasedWebhook>, Error> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let leased_until = ctx.clock.now() + WEBHOOK_LEASE;
    let taken = ctx
        .store
        .write((found, leased_until), async |tx, (found, leased_until)| {
                let rows = found.iter().map(|it| {
                    let id: [Value; 2] = [it.account.into(), it.webhook.into()];
                    // A recorded outcome changes `due_at`, but not the attempt.
                    let seen: [Value; 2] = [it.attempt.into(), it.due_at.into()];
                    id.into_iter().chain(seen).chain([(*leased_until).into()]).collect()
                });
                let done = if mutants::is(Mutant::DoneBeforeSent) { ", due_at = NULL" } else { "" };
                let update = format!(
                    "UPDATE webhooks SET attempt = webhooks.attempt + 1, leased_until = v.leased_until{done} \
                     FROM v WHERE webhooks.account_id = v.account_id AND webhooks.id = v.id \
                     AND webhooks.attempt = v.attempt AND webhooks.due_at = v.due_at RETURNING webhooks.account_id, webhooks.id, webhooks.attempt"
                );
                let statement = about(
                    tx.get_database_backend(),
                    &["account_id", "id", "attempt", "due_at", "leased_until"],
                    rows.collect(),
                    &update,
                );
                let taken = tx.query_all_raw(statement).await?;
                let taken = taken.iter().map(|row| {
                    let id = (row.try_get::<Uuid>("", "account_id")?, row.try_get::<Uuid>("", "id")?);
                    Ok(vec![id.0.into(), id.1.into(), row.try_get::<i32>("", "attempt")?.into()])
                });
                taken.collect::<Result<Vec<Vec<Value>>, Error>>()
            })
        .await?;
    load(ctx, &["account_id", "id", "attempt"], taken, LEASED).await
}

/// Reads a leased webhook once more: since its lease its endpoint may have gone, or got another key.
pub(super) async fn reload(ctx: &Context, leased: &LeasedWebhook) -> Result<Option<LeasedWebhook>, Error> {
    let row = vec![leased.account.into(), leased.webhook.into(), leased.attempt.into()];
    let found = load(ctx, &["account_id", "id", "attempt"], vec![row], LEASED).await?;
    Ok(found.into_iter().find(|it| it.leased_until == leased.leased_until))
}

/// Reads the webhooks of events that this process has committed: they were inserted with its lease.
pub async fn announced(ctx: &Context, announcements: &[OutboxEvent]) -> Result<Vec<LeasedWebhook>, Error> {
    let columns: Vec<_> = ["account_id"].into_iter().chain(OutboxEvent::WEBHOOKS).collect();
    let rows = announcements.iter().map(|it| {
        std::iter::once(it.account.into()).chain(it.webhooks.into_iter().map(Value::from)).collect()
    });
    let webhooks = concat!(
        "v JOIN webhook_endpoints e ON e.account_id = v.account_id \
         JOIN webhooks w ON w.account_id = e.account_id AND w.id = ",
        its_webhook!(),
        " AND w.attempt = 1"
    );
    load(ctx, &columns, rows.collect(), webhooks).await
}

const LEASED: &str = "v JOIN webhooks w ON w.account_id = v.account_id AND w.id = v.id AND w.attempt = v.attempt \
     JOIN webhook_endpoints e ON e.account_id = w.account_id AND e.id = w.endpoint_id";

#[derive(FromQueryResult)]
struct LeasedRow {
    account_id: AccountToken,
    id: WebhookToken,
    attempt: i32,
    leased_until: Option<Timestamp>,
    due_at: Option<Timestamp>,
    state: WebhookState,
    retries: i32,
    errors: JsonText,
    endpoint_id: WebhookEndpointToken,
    url: String,
    event_id: EventToken,
    r#type: event::EventType,
    data: JsonText,
    happened_at: Timestamp,
    sequence: Option<i64>,
    clock_offset: TimeSpan,
    trace: Option<String>,
}

/// Reads webhooks with everything their delivery needs.
async fn load(
    ctx: &Context,
    columns: &[&str],
    mut rows: Vec<Vec<Value>>,
    webhooks: &str,
) -> Result<Vec<LeasedWebhook>, Error> {
    let account_of = |row: &[Value]| <AccountToken as ValueType>::try_from(row[0].clone()).ok();
    let accounts = rows.iter().filter_map(|row| account_of(row));
    let accounts: HashSet<_> = accounts.filter(|account| !ctx.store.is_fenced(*account)).collect();
    let numbered = event_sequence::number_all(ctx, accounts).await;
    rows.retain(|row| account_of(row).is_some_and(|account| numbered.contains(&account)));
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let statement = format!(
        "SELECT w.account_id, w.id, w.attempt, w.leased_until, w.due_at, w.state, w.retries, w.errors, w.endpoint_id, w.trace, \
         e.url, e.key_sealed, e.sealed_by, e.former_key_sealed, e.former_key_until, w.event_id, x.type, x.data, x.created_at AS happened_at, x.sequence, a.clock_offset \
         FROM {webhooks} JOIN events x ON x.account_id = w.account_id AND x.id = w.event_id \
         JOIN accounts a ON a.id = w.account_id"
    );
    let reader = ctx.store.read();
    let rows = reader.query_all_raw(about(ctx.store.backend(), columns, rows, &statement)).await?;
    // One that cannot be read must not block the others.
    let leased =
        join_all(rows.iter().map(|row| leased_webhook(ctx, row))).await.into_iter().filter_map(|webhook| {
            webhook.inspect_err(|error| tracing::error!(%error, "a webhook cannot be read")).ok()
        });
    Ok(leased.collect())
}

async fn leased_webhook(ctx: &Context, row: &QueryResult) -> Result<LeasedWebhook, Error> {
    let keys = SealedKeys::from_query_result(row, "")?;
    let row = LeasedRow::from_query_result(row, "")?;
    let event = event::Model {
        account_id: row.account_id,
        id: row.event_id,
        r#type: row.r#type,
        data: row.data,
        created_at: row.happened_at,
        sequence: row.sequence,
    };
    Ok(LeasedWebhook {
        account: row.account_id,
        webhook: row.id,
        attempt: row.attempt,
        leased_until: row.leased_until.ok_or_else(|| Error::internal("a webhook without a lease"))?,
        due_at: row.due_at,
        state: row.state,
        retries: row.retries,
        errors: row.errors,
        endpoint: row.endpoint_id,
        keys: keys.open(ctx, row.account_id, row.endpoint_id).await?,
        url: row.url,
        event: event.id,
        body: serde_json::to_vec(&Event::from(event))?.into(),
        clock_offset: row.clock_offset,
        trace: row.trace.and_then(|trace| trace.parse().ok()),
    })
}

/// Releases the leases of webhooks that the dispatcher had no capacity for.
pub async fn release(ctx: &Context, leased: Vec<LeasedWebhook>) -> Result<(), Error> {
    let leased: Vec<_> = leased.into_iter().filter(|it| !ctx.store.is_fenced(it.account)).collect();
    if leased.is_empty() {
        return Ok(());
    }
    let unit = ctx.store.write(leased, async |tx, leased| {
            let rows = leased.iter().map(|it| {
                vec![it.account.into(), it.webhook.into(), it.attempt.into(), it.leased_until.into()]
            });
            let statement = about(
                tx.get_database_backend(),
                &["account_id", "id", "attempt", "leased_until"],
                rows.collect(),
                "UPDATE webhooks SET leased_until = NULL FROM v \
                 WHERE webhooks.account_id = v.account_id AND webhooks.id = v.id AND webhooks.attempt = v.attempt \
                 AND webhooks.leased_until = v.leased_until",
            );
            Ok(tx.execute_raw(statement).await.map(drop)?)
        });
    unit.await
}

/// Releases every lease. Only for a server that knows it is the only one.
pub async fn make_due_now(ctx: &Context) -> Result<(), Error> {
    let leased = webhook::Entity::update_many()
        .col_expr(Column::LeasedUntil, Expr::value(None::<i64>))
        .filter(Column::DueAt.is_not_null())
        .filter(Column::LeasedUntil.is_not_null());
    ctx.update(leased).await.map(drop)
}
