//! Seals the audit trail: a worker gives each entry a number and a keyed hash, and binds it to its predecessor
//! (`docs/decisions.md`, 385).
//!
//! A unit that records an entry waits for nothing: entries are sealed after their commit, in batches. The head is the last
//! link, signed: a copy of it elsewhere ([`anchor`](super::anchor)) can prove what the trail was then.

use std::sync::Arc;

use base::crash_points;
use entity::audit_entry::{self, COLUMN, Column, Entity};
use entity::{Timestamp, installation};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder,
    QuerySelect, Select, Value,
};
use store::{Tx, about};
use uuid::Uuid;
use vault::{Purpose, Vault};

use super::head::{AuditHead, HEAD, Mac, tampered};
use crate::error::Error;
use crate::limits::{AUDIT_READ_AT_ONCE, AUDIT_RETENTION, AUDIT_SEALED_AT_ONCE};
use crate::services::context::Context;

impl AuditHead {
    /// Requires that the trail still ends with the last sealed entry.
    async fn require_end(&self, tx: &Tx, vault: &Vault) -> Result<(), Error> {
        let end =
            sealed_after((self.number, Uuid::nil())).limit(2).into_model::<TrailEntry>().all(tx).await?;
        let is_whole = match &end[..] {
            [] => self.number == self.removed,
            [last] => {
                let is_last = last.verified(vault).is_some_and(|(number, _)| number == self.number);
                is_last && last.link.as_deref() == Some(&self.link.0) && self.number > self.removed
            }
            _ => false,
        };
        if is_whole { Ok(()) } else { Err(tampered("the end of the audit trail is not as it was sealed")) }
    }

    /// Writes the head that follows from a locked one.
    async fn replace(&mut self, tx: &Tx, row: &installation::Model, trail: &Trail) -> Result<(), Error> {
        let value = self.sign(&trail.vault, trail.wall)?;
        Ok(tx.update(row, &installation::Model { value, ..row.clone() }).await?)
    }

    /// Takes the oldest entry off the trail, if it is as it was sealed and kept from no later than `until`. Returns its id.
    fn remove(&mut self, entry: &TrailEntry, trail: &Trail, until: i64) -> Option<Uuid> {
        let (number, mac) = entry.verified(&trail.vault)?;
        let link = link(&trail.vault, self.removed_link, mac);
        let is_next = number == self.removed + 1 && number <= self.number;
        let is_whole = is_next && entry.link.as_deref() == Some(&link.0);
        if !is_whole || entry.kept_from.is_none_or(|from| from > until) {
            return None;
        }
        (self.removed, self.removed_link) = (number, link);
        entry.id
    }

    /// Seals the next entry. Returns the values of its row: id, number, time, hash and link.
    fn seal(&mut self, entry: &TrailEntry, trail: &Trail) -> Vec<Value> {
        self.number += 1;
        // Not the time of recording: commands record without keys, so an intruder could back-date an entry and have it removed.
        self.kept_from = self.kept_from.max(trail.wall.millis());
        let mac = entry.mac_at(&trail.vault, self.number, self.kept_from);
        self.link = link(&trail.vault, self.link, mac);
        vec![
            entry.id.into(),
            self.number.into(),
            self.kept_from.into(),
            mac.0.to_vec().into(),
            self.link.0.to_vec().into(),
        ]
    }
}

/// Returns the head of a trail in which nothing is sealed, for a database that has none.
pub fn first_head(vault: &Vault, wall: Timestamp) -> Result<installation::Model, Error> {
    Ok(installation::Model { name: HEAD.into(), value: AuditHead::default().sign(vault, wall)? })
}

/// Begins the trail of a database of an earlier release, where the first sealed entry made the head. One that has entries and
/// no head has lost it.
pub async fn begin(tx: &Tx, first: &installation::Model) -> Result<(), Error> {
    let sealed = Entity::find().filter(Column::Number.is_not_null()).select_only().column(Column::Id);
    if AuditHead::find(tx).await?.is_none() && sealed.into_tuple::<Uuid>().one(tx).await?.is_none() {
        tx.insert(first).await?;
    }
    Ok(())
}

/// Returns the link that follows another one.
pub(super) fn link(vault: &Vault, before: Mac, mac: Mac) -> Mac {
    Mac(vault.keyed_hash(Purpose::Audit, &[b"link", &before.0, &mac.0]))
}

/// An entry as it is in the table, however it got there: a column of another type is none.
#[derive(Debug, Clone, FromQueryResult)]
pub(super) struct TrailEntry {
    pub id: Option<Uuid>,
    action: Option<String>,
    account: Option<Uuid>,
    subject: Option<String>,
    detail: Option<String>,
    operator: Option<String>,
    recorded_at: Option<i64>,
    pub number: Option<i64>,
    kept_from: Option<i64>,
    mac: Option<Vec<u8>>,
    pub link: Option<Vec<u8>>,
}

impl TrailEntry {
    fn mac_at(&self, vault: &Vault, number: i64, kept_from: i64) -> Mac {
        // An absent value differs from an empty one.
        let part = |bytes: Option<&[u8]>| bytes.map_or_else(Vec::new, |bytes| [&b"="[..], bytes].concat());
        let text = |text: Option<&str>| part(text.map(str::as_bytes));
        let id = |id: Option<Uuid>| part(id.as_ref().map(|id| id.as_bytes().as_slice()));
        let parts = [
            b"entry".to_vec(),
            number.to_be_bytes().to_vec(),
            kept_from.to_be_bytes().to_vec(),
            id(self.id),
            text(self.action.as_deref()),
            id(self.account),
            text(self.subject.as_deref()),
            text(self.detail.as_deref()),
            text(self.operator.as_deref()),
            part(self.recorded_at.map(i64::to_be_bytes).as_ref().map(<[u8; 8]>::as_slice)),
        ];
        Mac(vault.keyed_hash(Purpose::Audit, &parts.each_ref().map(Vec::as_slice)))
    }

    /// Returns the entry's number and hash, if it is as it was sealed.
    pub(super) fn verified(&self, vault: &Vault) -> Option<(i64, Mac)> {
        let (number, kept_from) = (self.number?, self.kept_from?);
        let mac = self.mac_at(vault, number, kept_from);
        (self.mac.as_deref() == Some(&mac.0)).then_some((number, mac))
    }
}

/// The data with which a unit seals or removes entries.
struct Trail {
    vault: Arc<Vault>,
    wall: Timestamp,
    /// The time up to which entries are past their retention.
    long_ago: Timestamp,
}

impl Trail {
    fn new(ctx: &Context) -> Self {
        let long_ago = ctx.trusted.earliest() - AUDIT_RETENTION;
        Self { vault: Arc::clone(&ctx.vault), wall: ctx.clock.now(), long_ago }
    }
}

/// Selects the entries that are not sealed yet.
pub(super) fn unsealed() -> Select<Entity> {
    Entity::find().filter(Column::Number.is_null())
}

/// Selects the sealed entries behind a number and id, in the order of the trail.
pub(super) fn sealed_after((number, id): (i64, Uuid)) -> Select<Entity> {
    let same = Condition::all().add(Column::Number.eq(number)).add(Column::Id.gt(id));
    Entity::find()
        .filter(Column::Number.is_not_null())
        // The index begins there.
        .filter(Column::Number.gte(number))
        .filter(Condition::any().add(Column::Number.gt(number)).add(same))
        .order_by_asc(Column::Number)
        .order_by_asc(Column::Id)
        .limit(AUDIT_READ_AT_ONCE)
}

/// Seals the entries that are committed by now. Returns their number. Of several servers one seals at a time.
pub async fn seal(ctx: &Context) -> Result<u64, Error> {
    let mut sealed = 0;
    loop {
        if unsealed().limit(1).into_model::<TrailEntry>().one(ctx.store.read()).await?.is_none() {
            return Ok(sealed);
        }
        crash_points::point("audit", "seal.before");
        let batch = ctx.store.write(Trail::new(ctx), seal_batch).await?;
        crash_points::point("audit", "seal.after");
        if batch == 0 {
            return Ok(sealed);
        }
        sealed += batch;
    }
}

async fn seal_batch(tx: &Tx, trail: &Trail) -> Result<u64, Error> {
    let (row, mut head) = AuditHead::lock(tx, &trail.vault).await?;
    head.require_end(tx, &trail.vault).await?;
    let entries = unsealed().order_by_asc(Column::Id).limit(AUDIT_SEALED_AT_ONCE);
    let entries = entries.into_model::<TrailEntry>().all(tx).await?;
    if entries.is_empty() {
        return Ok(0);
    }
    let rows = entries.iter().map(|entry| head.seal(entry, trail)).collect();
    let columns = ["id", "number", "kept_from", "mac", "link"];
    let statement = "UPDATE audit_entries SET number = v.number, kept_from = v.kept_from, mac = v.mac, link = v.link \
        FROM v WHERE audit_entries.id = v.id AND audit_entries.number IS NULL";
    let sealed =
        tx.execute_raw(about(tx.get_database_backend(), &columns, rows, statement)).await?.rows_affected();
    if sealed != entries.len() as u64 {
        return Err(Error::internal("entries of the audit trail vanished while they were sealed"));
    }
    crash_points::point("audit", "seal.written");
    head.replace(tx, &row, trail).await?;
    Ok(entries.len() as u64)
}

/// Selects sealed entries past their retention, by the wall clock.
pub fn old(wall: Timestamp) -> Select<Entity> {
    Entity::find()
        .filter(Column::Number.is_not_null())
        .filter(COLUMN.kept_from.lte(wall - AUDIT_RETENTION))
        .order_by_asc(Column::KeptFrom)
}

/// Removes an entry past its retention, and all before it; the head records it. An entry that is not as it was sealed stays, and
/// so do those after it.
pub async fn forget(ctx: &Context, entry: audit_entry::Model) -> Result<(), Error> {
    let unit =
        ctx.store.write((Trail::new(ctx), entry), async |tx, (trail, entry)| remove(tx, trail, entry).await);
    unit.await
}

async fn remove(tx: &Tx, trail: &Trail, entry: &audit_entry::Model) -> Result<(), Error> {
    let (row, mut head) = AuditHead::lock(tx, &trail.vault).await?;
    if Entity::find_by_id(entry.id).into_model::<TrailEntry>().one(tx).await?.is_none() {
        // Removed with a later one.
        return Ok(());
    }
    let until = trail.long_ago.millis();
    let oldest = sealed_after((head.removed, Uuid::max())).into_model::<TrailEntry>().all(tx).await?;
    let removed: Vec<_> = oldest.iter().map_while(|entry| head.remove(entry, trail, until)).collect();
    if removed.is_empty() {
        return Err(tampered(
            "the oldest entries of the audit trail are not as they were sealed and are kept",
        ));
    }
    Entity::delete_many().filter(Column::Id.is_in(removed)).exec(tx).await?;
    head.replace(tx, &row, trail).await
}
