//! The outbox: events for the account's webhook endpoints. The code that records an event does not know the endpoints: the
//! statement that inserts the event's row inserts a webhook for each endpoint.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use entity::webhook::{self, WebhookState};
use entity::{AccountToken, EventToken, JsonText, Timestamp, WebhookEndpointToken, WebhookToken};
use sea_orm::{DbBackend, Value};
use tokio::sync::mpsc;
use tokio::sync::mpsc::PermitIterator;

use super::rows::value_table;
use crate::limits::{ANNOUNCEMENTS_WAITING_MAX, WEBHOOK_ENDPOINTS_MAX, WEBHOOK_LEASE};
use crate::runtime::clock::Clock;

/// An event to publish, with the tokens of the webhooks it may need: one for each slot that an endpoint can have.
#[derive(Debug, Clone)]
pub struct OutboxEvent {
    /// The account that owns the event.
    pub account: AccountToken,
    /// The event.
    pub event: EventToken,
    /// When it happened, by the account's clock.
    pub at: Timestamp,
    /// The tokens, by slot.
    pub webhooks: [WebhookToken; WEBHOOK_ENDPOINTS_MAX],
    /// The trace that caused the event, as text.
    pub trace: Option<String>,
}

impl OutboxEvent {
    /// The columns of the tokens, by slot.
    pub const WEBHOOKS: [&str; WEBHOOK_ENDPOINTS_MAX] =
        ["webhook0", "webhook1", "webhook2", "webhook3", "webhook4"];

    /// In SQL: the token of the webhook for endpoint `e` and event `v`.
    pub const ITS_WEBHOOK: &str = "CASE e.slot WHEN 0 THEN v.webhook0 WHEN 1 THEN v.webhook1 \
         WHEN 2 THEN v.webhook2 WHEN 3 THEN v.webhook3 WHEN 4 THEN v.webhook4 END";

    /// Returns the webhook to an endpoint, by its token and slot; `None` if no endpoint can have that slot.
    pub fn webhook(
        &self,
        (endpoint_id, slot): (WebhookEndpointToken, i32),
        leased_until: Option<Timestamp>,
    ) -> Option<webhook::Model> {
        let id = *self.webhooks.get(usize::try_from(slot).ok()?)?;
        Some(webhook::Model {
            account_id: self.account,
            id,
            event_id: self.event,
            endpoint_id,
            state: WebhookState::Pending,
            attempt: first_attempt(leased_until),
            leased_until,
            due_at: Some(self.at),
            retries: 0,
            errors: JsonText::empty_object(),
            accepted_at: None,
            created_at: self.at,
            trace: self.trace.clone(),
        })
    }
}

/// Returns the number of the attempt that has begun: the owner of the lease makes the first.
fn first_attempt(leased_until: Option<Timestamp>) -> i32 {
    i32::from(leased_until.is_some())
}

/// The channel to the dispatcher that delivers what this process commits, if it runs one.
#[derive(Clone, Default)]
pub(super) struct DispatcherChannel(Arc<OnceLock<Listener>>);

struct Listener {
    clock: Arc<dyn Clock>,
    announcements: mpsc::Sender<OutboxEvent>,
}

/// Slots of the channel, reserved until the commit.
pub(super) struct ReservedSlots<'a> {
    places: PermitIterator<'a, OutboxEvent>,
    /// The end of the dispatcher's lease of the webhooks, by the wall clock.
    pub leased_until: Timestamp,
}

impl DispatcherChannel {
    /// Registers the dispatcher, which is the only listener.
    pub fn listen(&self, clock: Arc<dyn Clock>) -> mpsc::Receiver<OutboxEvent> {
        let (announcements, receiver) = mpsc::channel(ANNOUNCEMENTS_WAITING_MAX);
        let listener = Listener { clock, announcements };
        assert!(self.0.set(listener).is_ok(), "a store has one listener");
        receiver
    }

    /// Reserves slots for so many events. If too few are free, the webhooks are inserted without a lease, and a worker that
    /// polls for due ones finds them.
    pub fn places(&self, announcements: usize) -> Option<ReservedSlots<'_>> {
        let listener = self.0.get().filter(|_| announcements > 0)?;
        let places = listener.announcements.try_reserve_many(announcements).ok()?;
        Some(ReservedSlots { places, leased_until: listener.clock.now() + WEBHOOK_LEASE })
    }
}

impl ReservedSlots<'_> {
    /// Sends the events; the commit is certain.
    pub fn fill(self, announced: Vec<OutboxEvent>) {
        for (place, announcement) in self.places.zip(announced) {
            place.send(announcement);
        }
    }
}

/// Inserts one webhook for each endpoint of the account. PostgreSQL locks the endpoints: another transaction that deletes
/// one waits, and then deletes these webhooks as well.
pub(super) fn insert_webhooks(
    sql: &mut String,
    values: &mut Vec<Value>,
    announced: &[OutboxEvent],
    leased_until: Option<Timestamp>,
    backend: DbBackend,
) {
    let columns = ["account_id", "event_id", "at", "attempt", "leased_until", "trace"];
    let columns: Vec<_> = columns.into_iter().chain(OutboxEvent::WEBHOOKS).collect();
    let rows = announced.iter().map(|announcement| {
        let OutboxEvent { account, event, at, webhooks, ref trace } = *announcement;
        let row = [
            account.into(),
            event.into(),
            at.into(),
            first_attempt(leased_until).into(),
            leased_until.into(),
            trace.clone().into(),
        ];
        row.into_iter().chain(webhooks.map(Value::from)).collect()
    });
    value_table(sql, values, backend, &columns, rows);
    let its_webhook = OutboxEvent::ITS_WEBHOOK;
    // Writing to a String cannot fail.
    let _ = write!(
        sql,
        " INSERT INTO webhooks (account_id, id, event_id, endpoint_id, state, attempt, leased_until, due_at, retries, errors, created_at, trace) \
         SELECT e.account_id, {its_webhook}, v.event_id, e.id, 'pending', v.attempt, v.leased_until, v.at, 0, '{{}}', v.at, v.trace \
         FROM v JOIN webhook_endpoints e ON e.account_id = v.account_id"
    );
    if backend == DbBackend::Postgres {
        // A statement that locks rows names their account outright.
        if let [OutboxEvent { account, .. }, others @ ..] = announced
            && others.iter().all(|other| other.account == *account)
        {
            values.push((*account).into());
            let _ = write!(sql, " WHERE e.account_id = ${}", values.len());
        }
        sql.push_str(" FOR KEY SHARE OF e RETURNING account_id");
    }
}

/// PostgreSQL: counts the rows of the statement's CTE `told`.
pub(super) fn count_told(sql: &mut String, values: &mut Vec<Value>, slot: i32, conflict: &str) {
    // A parameter: as text it would make another statement for each slot, for the database to parse and plan.
    values.push(slot.into());
    let _ = write!(
        sql,
        "INSERT INTO counters (account_id, kind, slot, n) \
         SELECT account_id, 'webhooks', ${}, COUNT(*) FROM told GROUP BY account_id{conflict}",
        values.len()
    );
}

/// SQLite: counts what [`insert_webhooks`] writes. There is one writer, so both statements find the same endpoints.
pub(super) fn count_apart(
    sql: &mut String,
    values: &mut Vec<Value>,
    announced: &[OutboxEvent],
    conflict: &str,
) {
    let mut events = BTreeMap::<AccountToken, i64>::new();
    for announcement in announced {
        *events.entry(announcement.account).or_default() += 1;
    }
    let rows = events.into_iter().map(|(account, n)| vec![account.into(), n.into()]);
    value_table(sql, values, DbBackend::Sqlite, &["account_id", "n"], rows);
    let _ = write!(
        sql,
        " INSERT INTO counters (account_id, kind, slot, n) \
         SELECT v.account_id, 'webhooks', 0, v.n * COUNT(*) \
         FROM v JOIN webhook_endpoints e ON e.account_id = v.account_id \
         WHERE TRUE GROUP BY v.account_id, v.n{conflict}"
    );
}
