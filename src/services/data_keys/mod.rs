//! The table of the vault's keys, wrapped by the operator's: reading it, a rotation ([`rotate`](mod@rotate)), what
//! follows from one ([`reencrypt`]), and how often each key seals ([`seals`]).
//!
//! A rotation makes a data key that seals from then on; the former ones retire and only open. Whoever meets the id of a
//! key that he does not know reads the table again, and servers read it again every few seconds, so a former key seals
//! nothing any more shortly after. An hour later it goes, unless a row is still sealed by it.

pub mod reencrypt;
pub mod rotate;
pub mod seals;

use entity::{Timestamp, installation, vault_key};
use futures::FutureExt;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::context::Context;
use super::installation::{InstallationError, KEYS};
use crate::error::Error;
use crate::runtime::clock::IdGenerator;
use crate::runtime::random::{RandomSource, RandomStream};
use crate::store::{FoundKey, Store};
use crate::vault::{DataKeys, HashKeys, Key, OperatorKeys, Purpose, Vault, VaultError, Wrapped};

/// What a data key is filed under; hash keys are filed under their purpose.
const DATA: &str = "data";

/// Open the database's keys; an empty database gets its first ones.
pub async fn open(
    store: &Store,
    operator: &OperatorKeys,
    ids: &IdGenerator,
    chance: &RandomSource,
    now: Timestamp,
) -> Result<Vault, InstallationError> {
    // What is hashed is seen, in links; what is sealed never is.
    let hash_keys =
        Purpose::ALL.iter().map(|purpose| (purpose.name(), chance.bytes(RandomStream::HashKey).into()));
    let keys = [(DATA, Key::random())].into_iter().chain(hash_keys);
    let fresh: Vec<vault_key::Model> =
        keys.map(|(purpose, key)| fresh(operator, ids.next(), (purpose, &key), now)).collect();
    let rows = store
        .write(fresh, |tx, fresh| {
            async move {
                if installation::Entity::find_by_id(KEYS).one(tx).await?.is_none() {
                    tx.append(&installation::Model { name: KEYS.into(), value: String::new() });
                    for key in fresh {
                        tx.append(key);
                    }
                    return Ok(fresh.clone());
                }
                Ok(youngest_first().all(tx).await?)
            }
            .boxed()
        })
        .await?;
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
    let data_keys = data_keys(operator, &rows)?.ok_or(InstallationError::KeyMissing)?;
    Ok(Vault::new(data_keys, hash_keys))
}

/// Refuse a database whose keys the operator's do not open, before anything of it is touched.
pub fn refuse_closed(found: &[FoundKey], operator: &OperatorKeys) -> Result<(), InstallationError> {
    for key in found {
        operator.unwrap(&context(key.id, &key.purpose), &key.wrapped)?;
    }
    Ok(())
}

/// Read the data keys again: another process may have rotated them.
pub async fn read_again(ctx: &Context) -> Result<(), Error> {
    let rows = youngest_first().filter(vault_key::Column::Purpose.eq(DATA)).all(ctx.store.read()).await?;
    let data_keys = data_keys(&ctx.operator, &rows)?;
    let data_keys = data_keys.ok_or_else(|| Error::internal("the database lacks one of its keys"))?;
    ctx.vault.replace(data_keys.after(&ctx.vault.data_keys()));
    Ok(())
}

/// Open what is sealed in a row, of which `context` says what it is and whose.
pub async fn unseal(
    ctx: &Context,
    context: &[u8],
    key: Uuid,
    bytes: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    match ctx.vault.data_keys().open(context, key, bytes) {
        Err(VaultError::UnknownDataKey(_)) => {
            read_again(ctx).await?;
            Ok(ctx.vault.data_keys().open(context, key, bytes)?)
        }
        opened => Ok(opened?),
    }
}

fn youngest_first() -> sea_orm::Select<vault_key::Entity> {
    vault_key::Entity::find().order_by_desc(vault_key::Column::CreatedAt).order_by_desc(vault_key::Column::Id)
}

/// The one that has not retired seals. None where there is none.
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

/// A wrapped key opens only as what it was filed under.
fn context(id: Uuid, purpose: &str) -> Vec<u8> {
    format!("{purpose} key {id}").into_bytes()
}
