//! The time that the database notes, by which copies of the server and later starts know a wall clock that was set
//! (`docs/decisions.md`, 404).

use std::fmt;
use std::sync::Arc;

use base::clock::Clock;
use base::trusted_clock::{ClockRecord, TrustedClock};
use entity::audit_entry::{self, Action};
use entity::{Timestamp, idempotency_key, installation, vault_key};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QuerySelect};
use serde::Serialize;
use serde_json::json;
use store::{CLOCK, Tx};

use super::audit::{self, OperatorAction};
use super::context::Context;
use crate::Store;
use crate::error::Error;

/// Returns the clock as the database knows it. A database of an earlier release has no record: its newest rows that are dated by
/// the wall clock say how late it has been at least.
pub async fn open(store: &Store, clock: Arc<dyn Clock>) -> Result<TrustedClock, Error> {
    Ok(TrustedClock::resume(clock, noted(store.read()).await?.as_ref()))
}

async fn noted(db: &impl ConnectionTrait) -> Result<Option<ClockRecord>, Error> {
    let row = installation::Entity::find_by_id(CLOCK).one(db).await?;
    if let Some(record) = row.and_then(|row| ClockRecord::parse(&row.value)) {
        return Ok(Some(record));
    }
    // Rows of accounts follow their own clocks, and files bring them from elsewhere.
    let newest = [
        newest::<audit_entry::Entity>(db, audit_entry::Column::RecordedAt).await?,
        newest::<idempotency_key::Entity>(db, idempotency_key::Column::CreatedAt).await?,
        newest::<vault_key::Entity>(db, vault_key::Column::CreatedAt).await?,
    ];
    Ok(newest.into_iter().flatten().max().map(ClockRecord::noted_at))
}

async fn newest<E: EntityTrait>(
    db: &impl ConnectionTrait,
    column: E::Column,
) -> Result<Option<Timestamp>, Error> {
    let newest = E::find().select_only().column_as(column.max(), "newest");
    Ok(newest.into_tuple::<Option<Timestamp>>().one(db).await?.flatten())
}

/// Notes the time, and learns what other copies and operators have noted. Of several copies one notes at a time.
pub async fn synchronise(ctx: &Context) -> Result<(), Error> {
    let Some(state) = ctx.trusted.state() else { return Ok(()) };
    let unit = ctx.store.write(state, async |tx, state| {
        let found = lock(tx).await?;
        let record = found.as_ref().and_then(|row| ClockRecord::parse(&row.value));
        let (state, record) = state.meet(record.as_ref());
        write(tx, found.as_ref(), &record).await?;
        Ok(state)
    });
    ctx.trusted.set(unit.await?);
    Ok(())
}

/// The result of a confirmation.
#[derive(Debug, Serialize)]
pub struct ConfirmedClock {
    /// The time that is believed.
    pub now: Timestamp,
    /// The time that was expected, if the clock was doubted.
    pub expected: Option<Timestamp>,
}

impl fmt::Display for ConfirmedClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.expected {
            Some(expected) => {
                write!(f, "it is {}, and not {expected}: servers believe it within a minute", self.now)
            }
            None => write!(f, "it is {}: nobody doubts it", self.now),
        }
    }
}

/// Confirms the wall clock, if it is doubted: servers whose clocks agree believe them.
pub async fn confirm(store: &Store, wall: Timestamp) -> Result<ConfirmedClock, Error> {
    let unit = store.write(wall, async |tx, wall| {
        let found = lock(tx).await?;
        let doubt = noted(tx).await?.and_then(|record| record.doubt(*wall));
        let expected = doubt.map(|doubt| doubt.trusted);
        if let Some(expected) = expected {
            write(tx, found.as_ref(), &ClockRecord::confirmed(*wall)).await?;
            let detail = json!({ "now": wall, "expected": expected });
            audit::record(tx, &OperatorAction::on_clock(Action::ClockConfirmed, detail))?;
        }
        Ok(ConfirmedClock { now: *wall, expected })
    });
    unit.await
}

async fn lock(tx: &Tx) -> Result<Option<installation::Model>, Error> {
    tx.lock::<installation::Entity>(CLOCK.to_owned()).await?;
    Ok(installation::Entity::find_by_id(CLOCK).one(tx).await?)
}

async fn write(tx: &Tx, found: Option<&installation::Model>, record: &ClockRecord) -> Result<(), Error> {
    let row = installation::Model { name: CLOCK.into(), value: serde_json::to_string(record)? };
    if let Some(found) = found {
        return Ok(tx.update(found, &row).await?);
    }
    // Of two copies one is first; the other one meets its record at its next turn.
    let known = OnConflict::column(installation::Column::Name).do_nothing().to_owned();
    installation::Entity::insert(row.into_active_model())
        .on_conflict(known)
        .exec_without_returning(tx)
        .await?;
    Ok(())
}
