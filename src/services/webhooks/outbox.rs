//! The outbox: events for the account's webhook endpoints. The code that records an event does not read the endpoints: the
//! commit that inserts the event derives a webhook for each endpoint.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use base::clock::Clock;
use base::mutants::{self, Mutant};
use entity::counter::Counted;
use entity::webhook::{self, WebhookState};
use entity::{
    AccountToken, EventToken, JsonText, Owned, Timestamp, WebhookEndpointToken, WebhookToken,
    webhook_endpoint,
};
use futures::FutureExt;
use sea_orm::sea_query::{LockType, ValueType};
use sea_orm::{DbErr, EntityName, QuerySelect, Value};
use store::{Derivation, Tx};
use tokio::sync::mpsc;

use crate::Store;
use crate::limits::{OUTBOX_EVENTS_WAITING_MAX, WEBHOOK_ENDPOINTS_MAX, WEBHOOK_LEASE};
use crate::services::counts;

/// An event to publish, with the tokens of the webhooks it may need: one for each slot that an endpoint can have.
#[derive(Debug, Clone, Copy)]
pub struct OutboxEvent {
    /// The account that owns the event.
    pub account: AccountToken,
    pub event: EventToken,
    /// The tokens, by slot.
    pub webhooks: [WebhookToken; WEBHOOK_ENDPOINTS_MAX],
}

impl OutboxEvent {
    /// The columns of the tokens, by slot.
    pub const WEBHOOKS: [&str; WEBHOOK_ENDPOINTS_MAX] =
        ["webhook0", "webhook1", "webhook2", "webhook3", "webhook4"];
}

/// In SQL: the token of the webhook for endpoint `e` and event `v`.
macro_rules! its_webhook {
    () => {
        "CASE e.slot WHEN 0 THEN v.webhook0 WHEN 1 THEN v.webhook1 WHEN 2 THEN v.webhook2 \
         WHEN 3 THEN v.webhook3 WHEN 4 THEN v.webhook4 END"
    };
}
pub(super) use its_webhook;

/// Webhooks, one for each endpoint of the account. PostgreSQL locks the endpoints: another transaction that deletes one waits,
/// and then deletes these webhooks as well.
static WEBHOOKS: Derivation = Derivation {
    columns: &[
        "account_id",
        "event_id",
        "at",
        "attempt",
        "leased_until",
        "trace",
        "webhook0",
        "webhook1",
        "webhook2",
        "webhook3",
        "webhook4",
    ],
    insert: concat!(
        "INSERT INTO webhooks (account_id, id, event_id, endpoint_id, state, attempt, leased_until, due_at, retries, errors, created_at, trace) \
         SELECT e.account_id, ",
        its_webhook!(),
        ", v.event_id, e.id, 'pending', v.attempt, v.leased_until, v.at, 0, '{}', v.at, v.trace \
         FROM v JOIN webhook_endpoints AS e ON e.account_id = v.account_id"
    ),
    locked: " FOR KEY SHARE OF e RETURNING account_id",
    count_derived: "INSERT INTO counters (account_id, kind, slot, n) \
         SELECT account_id, 'webhooks', $slot, COUNT(*) FROM derived GROUP BY account_id \
         ON CONFLICT (account_id, kind, slot) DO UPDATE SET n = counters.n + excluded.n",
    count: "INSERT INTO counters (account_id, kind, slot, n) \
         SELECT v.account_id, 'webhooks', 0, COUNT(*) \
         FROM v JOIN webhook_endpoints AS e ON e.account_id = v.account_id WHERE TRUE GROUP BY v.account_id \
         ON CONFLICT (account_id, kind, slot) DO UPDATE SET n = counters.n + excluded.n",
    look_up: |tx, events| look_up(tx, events).boxed(),
};

/// The channel to the dispatcher that delivers what this process commits.
struct Dispatcher {
    clock: Arc<dyn Clock>,
    events: mpsc::Sender<OutboxEvent>,
}

/// Returns a channel of the events that this process commits from now on and that have an endpoint, sent at once while there is
/// room. Their webhooks are inserted leased to the dispatcher. A store has one dispatcher at most.
pub fn listen(store: &Store, clock: Arc<dyn Clock>) -> mpsc::Receiver<OutboxEvent> {
    let (events, receiver) = mpsc::channel(OUTBOX_EVENTS_WAITING_MAX);
    store.add_listener(Dispatcher { clock, events });
    receiver
}

/// Publishes an event to the account's webhook endpoints, with the commit. If the dispatcher has no room for it, its webhooks are
/// inserted without a lease, and a worker that polls for due ones finds them.
pub fn publish(tx: &Tx, account: AccountToken, event: EventToken, at: Timestamp) {
    let event = OutboxEvent { account, event, webhooks: std::array::from_fn(|_| tx.token()) };
    let lease = tx.listener::<Dispatcher>().and_then(|dispatcher| {
        let place = dispatcher.events.clone().try_reserve_owned().ok()?;
        let then: Box<dyn FnOnce() + Send + Sync> = if mutants::is(Mutant::PublishedBeforeCommit) {
            drop(place.send(event));
            Box::new(|| ())
        } else {
            Box::new(move || drop(place.send(event)))
        };
        Some((then, dispatcher.clock.now() + WEBHOOK_LEASE))
    });
    let (then, leased_until) = lease.unzip();
    // The owner of the lease makes the first attempt.
    let attempt = i32::from(leased_until.is_some());
    let trace = tx.cause().map(|cause| cause.to_string());
    let values: [Value; 6] =
        [account.into(), event.event.into(), at.into(), attempt.into(), leased_until.into(), trace.into()];
    tx.derive(&WEBHOOKS, values.into_iter().chain(event.webhooks.map(Value::from)).collect(), then);
}

/// Appends the webhooks of events one by one. Locks the endpoints as the statement does.
async fn look_up(tx: &Tx, events: Vec<Vec<Value>>) -> Result<bool, DbErr> {
    let (mut any, mut known) = (false, HashMap::new());
    for event in events {
        let [account_id, event_id, at, attempt, leased_until, trace, ids @ ..] = &*event else { continue };
        let account = <AccountToken as ValueType>::try_from(account_id.clone())
            .map_err(|error| DbErr::Type(error.to_string()))?;
        let endpoints: &Vec<(WebhookEndpointToken, i32)> = match known.entry(account) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let endpoints = webhook_endpoint::Entity::owned_by(account)
                    .select_only()
                    .columns([webhook_endpoint::Column::Id, webhook_endpoint::Column::Slot])
                    .lock(LockType::KeyShare);
                unknown.insert(endpoints.into_tuple().all(tx).await?)
            }
        };
        for (endpoint, slot) in endpoints {
            let Some(id) = usize::try_from(*slot).ok().and_then(|slot| ids.get(slot)) else { continue };
            let row = [
                ("account_id", account_id.clone()),
                ("id", id.clone()),
                ("event_id", event_id.clone()),
                ("endpoint_id", (*endpoint).into()),
                ("state", WebhookState::Pending.code().into()),
                ("attempt", attempt.clone()),
                ("leased_until", leased_until.clone()),
                ("due_at", at.clone()),
                ("retries", 0.into()),
                ("errors", JsonText::empty_object().into()),
                ("created_at", at.clone()),
                ("trace", trace.clone()),
            ];
            tx.append_values(webhook::Entity.table_name(), row);
            counts::add(tx, account, Counted::Webhooks, 1);
            any = true;
        }
    }
    Ok(any)
}
