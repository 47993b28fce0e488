//! The table of the vault's keys, wrapped by the operator's key: reads it, rotates the data key
//! ([`rotate`](mod@rotate)), encrypts rows again ([`reencrypt`]), and counts how often each key seals ([`seals`]).
//!
//! A rotation makes the data key that seals from then on; former keys retire and only open. A server that meets an
//! unknown key id reads the table again, and every server does so every few seconds, so a former key soon seals nothing
//! more. It is deleted an hour later, unless a row is still sealed by it (`docs/decisions.md`, 113 to 115).

pub mod reencrypt;
pub mod rotate;
pub mod seals;

use base::clock::IdGenerator;
use base::random::{RandomSource, RandomStream};
use entity::{Timestamp, installation, vault_key};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use store::{FoundKey, Tx};
use uuid::{Builder, Uuid, Version};
use vault::{DataKeys, HashKeys, Key, OperatorKeys, Purpose, Vault, VaultError, Wrapped};
use zeroize::Zeroizing;

use super::audit;
use super::context::Context;
use super::installation::{InstallationError, KEYS};
use crate::Store;
use crate::error::Error;

/// The purpose under which a data key is stored; a hash key is stored under its own.
const DATA: &str = "data";

/// Opens the database's keys; creates them in an empty database.
pub async fn open(
    store: &Store,
    operator: &OperatorKeys,
    ids: &IdGenerator,
    random: &RandomSource,
    now: Timestamp,
) -> Result<Vault, InstallationError> {
    // From the seeded source: hashes are visible, in links; ciphertexts never are.
    let hash_keys =
        Purpose::STORED.iter().map(|purpose| (purpose.name(), random.bytes(RandomStream::HashKey).into()));
    let keys = [(DATA, Key::random())].into_iter().chain(hash_keys);
    let rows = keys.map(|(purpose, key)| {
        let id = if purpose == Purpose::Link.name() { id_with_trail(ids.next()) } else { ids.next() };
        fresh(operator, id, (purpose, &key), now)
    });
    let rows: Vec<vault_key::Model> = rows.collect();
    let head = audit::first_head(&vault(operator, &rows)?, now)?;
    let rows = store
        .write((rows, head), async |tx, (fresh, head)| {
            // In this order: another server may make them meanwhile.
            let is_marked = installation::Entity::find_by_id(KEYS).one(tx).await?.is_some();
            let known = youngest_first().all(tx).await?;
            // An intruder who has deleted the mark gets no other keys.
            if is_marked || !known.is_empty() {
                return Ok(known);
            }
            tx.append(&installation::Model { name: KEYS.into(), value: String::new() });
            for key in fresh {
                tx.append(key);
            }
            tx.append(head);
            Ok(fresh.clone())
        })
        .await?;
    let opened = vault(operator, &rows)?;
    let without_trail =
        |row: &&vault_key::Model| row.purpose == Purpose::Link.name() && row.id != id_with_trail(row.id);
    if let Some(link) = rows.iter().find(without_trail) {
        let key = unwrapped(operator, link)?;
        let wrapped = fresh(operator, id_with_trail(link.id), (&link.purpose, &key), link.created_at);
        let begin = BeginTrailUnit { former: link.id, link: wrapped, head: audit::first_head(&opened, now)? };
        store.write(begin, async |tx, begin| begin.record(tx).await).await?;
    }
    Ok(opened)
}

/// Returns the id of the link key in a database whose audit trail has begun. Wrapped keys open under their ids only, so nobody
/// without the operator's key makes the trail of such a database begin again.
fn id_with_trail(id: Uuid) -> Uuid {
    Builder::from_bytes(id.into_bytes()).with_version(Version::Custom).into_uuid()
}

/// Begins the audit trail of a database of an earlier release, once.
struct BeginTrailUnit {
    former: Uuid,
    link: vault_key::Model,
    head: installation::Model,
}

impl BeginTrailUnit {
    async fn record(&self, tx: &Tx) -> Result<(), Error> {
        if vault_key::Entity::delete_by_id(self.former).exec(tx).await?.rows_affected == 0 {
            // Another server was first.
            return Ok(());
        }
        tx.insert(&self.link).await?;
        audit::begin(tx, &self.head).await
    }
}

/// Unwraps a database's keys.
fn vault(operator: &OperatorKeys, rows: &[vault_key::Model]) -> Result<Vault, InstallationError> {
    let hash_key = |purpose: Purpose| {
        let row =
            rows.iter().find(|row| row.purpose == purpose.name()).ok_or(InstallationError::KeyMissing)?;
        Ok::<_, InstallationError>(unwrapped(operator, row)?)
    };
    let hash_keys = HashKeys {
        api_key: hash_key(Purpose::ApiKey)?,
        fingerprint: hash_key(Purpose::Fingerprint)?,
        link: hash_key(Purpose::Link)?,
    };
    let data_keys = data_keys(operator, rows)?.ok_or(InstallationError::KeyMissing)?;
    Ok(Vault::new(data_keys, hash_keys))
}

/// Refuses a database whose keys the operator's key does not open, before touching anything in it.
pub fn refuse_closed(found: &[FoundKey], operator: &OperatorKeys) -> Result<(), InstallationError> {
    for key in found {
        operator.unwrap(&context(key.id, &key.purpose), &key.wrapped)?;
    }
    Ok(())
}

/// Reads the data keys again: another process may have rotated them.
pub async fn reload(ctx: &Context) -> Result<(), Error> {
    loop {
        let former = ctx.vault.data_keys();
        let rows = youngest_first().filter(vault_key::Column::Purpose.eq(DATA)).all(ctx.store.read()).await?;
        let read = data_keys(&ctx.operator, &rows)?;
        let read = read.ok_or_else(|| Error::internal("the database lacks one of its keys"))?;
        // Where another reload was quicker, a rotation may lie between its read and this one.
        if ctx.vault.replace(&former, read.after(&former)) {
            return Ok(());
        }
    }
}

/// Unseals a column of a row; `context` is the associated data that names the row and its account.
pub async fn unseal(
    ctx: &Context,
    context: &[u8],
    key: Uuid,
    bytes: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    match ctx.vault.data_keys().open(context, key, bytes) {
        Err(VaultError::UnknownDataKey(_)) => {
            reload(ctx).await?;
            Ok(ctx.vault.data_keys().open(context, key, bytes)?)
        }
        opened => Ok(opened?),
    }
}

fn youngest_first() -> sea_orm::Select<vault_key::Entity> {
    vault_key::Entity::find().order_by_desc(vault_key::Column::CreatedAt).order_by_desc(vault_key::Column::Id)
}

/// Unwraps the data keys; the one that has not retired seals. `None` if there is none.
fn data_keys(operator: &OperatorKeys, rows: &[vault_key::Model]) -> Result<Option<DataKeys>, VaultError> {
    let (mut current, mut older) = (None, Vec::new());
    for row in rows.iter().filter(|row| row.purpose == DATA) {
        let key = (row.id, unwrapped(operator, row)?);
        if current.is_none() && row.remove_at.is_none() {
            current = Some(key);
        } else {
            older.push(key);
        }
    }
    Ok(current.map(|current| DataKeys::new(current, older)))
}

fn unwrapped(operator: &OperatorKeys, row: &vault_key::Model) -> Result<Key, VaultError> {
    let wrapped = Wrapped { by: row.wrapped_by.clone(), bytes: row.wrapped.clone() };
    operator.unwrap(&context(row.id, &row.purpose), &wrapped)
}

fn fresh(
    operator: &OperatorKeys,
    id: Uuid,
    (purpose, key): (&str, &Key),
    created_at: Timestamp,
) -> vault_key::Model {
    let wrapped = operator.wrap(&context(id, purpose), key);
    vault_key::Model {
        id,
        purpose: purpose.into(),
        wrapped_by: wrapped.by,
        wrapped: wrapped.bytes,
        created_at,
        remove_at: None,
        seals: 0,
    }
}

/// Returns the associated data that binds a wrapped key to its id and purpose.
fn context(id: Uuid, purpose: &str) -> Vec<u8> {
    format!("{purpose} key {id}").into_bytes()
}
