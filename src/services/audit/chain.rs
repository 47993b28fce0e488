//! Seals the audit trail: a worker gives each entry a number and a keyed hash, and binds it to its predecessor
//! (`docs/decisions.md`, 385).
//!
//! A unit that records an entry waits for nothing: entries are sealed after their commit, in batches. The head is the last
//! link, signed: a copy of it elsewhere ([`anchor`](super::anchor)) can prove what the trail was then.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::audit_entry::{self, Column, Entity};
use entity::{Timestamp, installation};
use futures::FutureExt;
use sea_orm::sea_query::OnConflict;
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, IntoActiveModel, QueryFilter, QueryOrder,
    QuerySelect, Select, Value,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::error::Error;
use crate::limits::{AUDIT_KEPT, AUDIT_SEALED_AT_ONCE};
use crate::runtime::crash_points;
use crate::services::context::Context;
use crate::store::{Tx, about};
use crate::vault::{Purpose, Vault};

/// The head's name in the table `installation`.
const HEAD: &str = "audit_head";

/// A keyed hash, as base64 in a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mac(pub [u8; 32]);

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| serde::de::Error::custom("no keyed hash"))
    }
}

/// The end of the trail, and its beginning if old entries have been removed. The same text is in the table
/// `installation` and in the anchor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// The number of the last sealed entry.
    pub number: i64,
    pub(super) link: Mac,
    /// Of the last sealed entry, in milliseconds since 1970.
    kept_from: i64,
    /// The number of the last removed entry.
    pub(super) removed: i64,
    pub(super) removed_link: Mac,
    /// When the head was signed, in milliseconds since 1970.
    pub(super) signed_at: i64,
    signature: Mac,
}

impl AuditHead {
    /// Reads the head as it is stored, whether its signature is right or not.
    pub(super) async fn find(db: &impl ConnectionTrait) -> Result<Option<installation::Model>, Error> {
        Ok(installation::Entity::find_by_id(HEAD).one(db).await?)
    }

    /// Returns the head that a text holds, if its signature is right.
    pub(super) fn parse(vault: &Vault, text: &str) -> Option<Self> {
        let head: Self = serde_json::from_str(text).ok()?;
        (head.signed_by(vault) == head.signature).then_some(head)
    }

    fn signed_by(&self, vault: &Vault) -> Mac {
        let numbers = [self.number, self.kept_from, self.removed, self.signed_at].map(i64::to_be_bytes);
        let parts = [&b"head"[..], numbers.as_flattened(), &self.link.0, &self.removed_link.0];
        Mac(vault.keyed_hash(Purpose::Audit, &parts))
    }

    /// Returns the text, signed at an instant of the wall clock.
    fn sign(&mut self, vault: &Vault, wall: Timestamp) -> Result<String, Error> {
        self.signed_at = wall.millis();
        self.signature = self.signed_by(vault);
        Ok(serde_json::to_string(self)?)
    }

    /// Locks the head until the commit, so that one unit at a time seals or removes. A head that was changed, or is gone although
    /// entries are sealed, is extended no further.
    async fn lock(tx: &Tx, vault: &Vault, wall: Timestamp) -> Result<(installation::Model, Self), Error> {
        if Self::find(tx).await?.is_none() {
            let first = installation::Model { name: HEAD.into(), value: Self::default().sign(vault, wall)? };
            // Of two servers one inserts it, and the other one waits for that.
            let known = OnConflict::column(installation::Column::Name).do_nothing().to_owned();
            let first = installation::Entity::insert(first.into_active_model()).on_conflict(known);
            let sealed = Entity::find().filter(Column::Number.is_not_null()).select_only().column(Column::Id);
            if first.exec_without_returning(tx).await? > 0
                && sealed.limit(1).into_tuple::<Uuid>().one(tx).await?.is_some()
            {
                return Err(Error::internal(
                    "the head of the audit trail is gone: run card-payments audit verify",
                ));
            }
        }
        tx.lock::<installation::Entity>(HEAD.to_owned()).await?;
        let row =
            Self::find(tx).await?.ok_or_else(|| Error::internal("the head of the audit trail is gone"))?;
        let head = Self::parse(vault, &row.value).ok_or_else(Self::changed)?;
        Ok((row, head))
    }

    /// The error for a head whose signature is wrong.
    pub(super) fn changed() -> Error {
        Error::internal("the head of the audit trail was changed: run card-payments audit verify")
    }

    /// Writes the head that follows from a locked one.
    async fn replace(&mut self, tx: &Tx, row: &installation::Model, trail: &Trail) -> Result<(), Error> {
        let value = self.sign(&trail.vault, trail.wall)?;
        tx.update(row, &installation::Model { value, ..row.clone() }).await
    }

    /// Seals the next entry. Returns the values of its row: id, number, time, hash and link.
    fn seal(&mut self, entry: &TrailEntry, trail: &Trail) -> Vec<Value> {
        let recorded_at = entry.recorded_at.unwrap_or_default().min(trail.wall.millis());
        self.number += 1;
        self.kept_from = self.kept_from.max(recorded_at);
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

/// What a unit seals or removes with.
struct Trail {
    vault: Arc<Vault>,
    wall: Timestamp,
}

impl Trail {
    fn of(ctx: &Context) -> Self {
        Self { vault: Arc::clone(&ctx.vault), wall: ctx.clock.now() }
    }
}

/// Selects the entries that are not sealed yet.
pub(super) fn unsealed() -> Select<Entity> {
    Entity::find().filter(Column::Number.is_null())
}

/// Seals the entries that are committed by now. Returns their number. Of several servers one seals at a time.
pub async fn seal(ctx: &Context) -> Result<u64, Error> {
    let mut sealed = 0;
    loop {
        if unsealed().limit(1).into_model::<TrailEntry>().one(ctx.store.read()).await?.is_none() {
            return Ok(sealed);
        }
        crash_points::point("audit", "seal.before");
        let batch = ctx.store.write(Trail::of(ctx), |tx, trail| seal_batch(tx, trail).boxed()).await?;
        crash_points::point("audit", "seal.after");
        if batch == 0 {
            return Ok(sealed);
        }
        sealed += batch;
    }
}

async fn seal_batch(tx: &Tx, trail: &Trail) -> Result<u64, Error> {
    let (row, mut head) = AuditHead::lock(tx, &trail.vault, trail.wall).await?;
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
        .filter(Column::KeptFrom.lte(wall - AUDIT_KEPT))
        .order_by_asc(Column::KeptFrom)
}

/// Removes an entry past its retention, and all before it; the head says so. An entry that is not as it was sealed stays.
pub async fn forget(ctx: &Context, entry: audit_entry::Model) -> Result<(), Error> {
    let unit =
        ctx.store.write((Trail::of(ctx), entry), |tx, (trail, entry)| remove(tx, trail, entry).boxed());
    unit.await
}

async fn remove(tx: &Tx, trail: &Trail, entry: &audit_entry::Model) -> Result<(), Error> {
    let (row, mut head) = AuditHead::lock(tx, &trail.vault, trail.wall).await?;
    let found = Entity::find_by_id(entry.id).into_model::<TrailEntry>().one(tx).await?;
    // Removed with a later one.
    let Some(found) = found else { return Ok(()) };
    let last = found
        .verified(&trail.vault)
        .map(|(number, _)| number)
        .zip(found.link.and_then(|link| link.try_into().ok()));
    // What chose the entry was not sealed: the column may have been changed for that moment.
    let is_old = found.kept_from.is_some_and(|from| from <= (trail.wall - AUDIT_KEPT).millis());
    let Some((number, link)) =
        last.filter(|(number, _)| is_old && (head.removed..=head.number).contains(number))
    else {
        return Err(Error::internal(format!("audit entry {} is not as it was sealed: it is kept", entry.id)));
    };
    Entity::delete_many().filter(Column::Number.lte(number)).exec(tx).await?;
    (head.removed, head.removed_link) = (number, Mac(link));
    head.replace(tx, &row, trail).await
}
