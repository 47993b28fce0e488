//! Events, each written in the transaction of the change it reports (`docs/decisions.md`, 241).

mod list;
pub mod params;
pub mod ping;
pub mod view;

pub(in crate::services) use list::about;
pub use list::list;

use std::sync::Arc;

use base::mutants::{self, Mutant};
use entity::counter::Counted;
use entity::event::EventType;
use entity::{AccountToken, EventToken, JsonText, Listed, Timestamp, event};
use serde::Serialize;
use store::Tx;

use super::context::{Account, Context};
use super::counts;
use super::event_sequence;
use super::memory::event_sequences::EventSequences;
use super::readable_events::ReadableEvents;
use super::webhooks::outbox;
use crate::error::{Error, ErrorCode};
use crate::services::events::view::Event;

/// Records an event of `record`, as the API shows it at this moment, and publishes it to the webhook endpoints.
pub fn record(
    tx: &Tx,
    account: AccountToken,
    now: Timestamp,
    what: EventType,
    record: &impl Serialize,
) -> Result<(), Error> {
    let id = note(tx, account, now, what, record)?;
    if !mutants::is(Mutant::EventWithoutWebhooks) {
        outbox::publish(tx, account, id, now);
    }
    Ok(())
}

/// Records an event without publishing it.
pub fn note(
    tx: &Tx,
    account: AccountToken,
    now: Timestamp,
    what: EventType,
    record: &impl Serialize,
) -> Result<EventToken, Error> {
    let (id, data) = (tx.token(), JsonText::encode(record)?);
    if let Some(sequences) = tx.listener::<Arc<EventSequences>>().cloned() {
        let labels = list::labels(what, &data);
        tx.after_commit(move || sequences.committed(account, labels));
    }
    tx.append(&event::Model { account_id: account, id, r#type: what, data, created_at: now, sequence: None });
    counts::add(tx, account, Counted::Events, 1);
    Ok(id)
}

/// Returns one event.
///
/// Refusals: `resource_not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Event, Error> {
    let id: EventToken = token.parse().map_err(|_| ErrorCode::RecordNotFound)?;
    let event = readable(ctx, account, id).await?;
    Ok(event.ok_or(ErrorCode::RecordNotFound)?.into())
}

/// Finds an event that the key of the request may read, with its number.
async fn readable(ctx: &Context, account: &Account, id: EventToken) -> Result<Option<event::Model>, Error> {
    let event = numbered(ctx, account, id).await?;
    Ok(event.filter(|event| ReadableEvents::by(account).is_none_or(|readable| readable.includes(event))))
}

/// Finds an event, with its number.
async fn numbered(ctx: &Context, account: &Account, id: EventToken) -> Result<Option<event::Model>, Error> {
    let row = event::Entity::at(account.id(), id);
    let found = row.clone().one(ctx.store.read()).await?;
    if found.as_ref().is_none_or(|event| event.sequence.is_some()) {
        return Ok(found);
    }
    event_sequence::number(ctx, account.id()).await?;
    Ok(row.one(ctx.store.read()).await?)
}
