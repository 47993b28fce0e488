//! A database belongs to one environment and carries its keys, wrapped by the operator's vault key.

use entity::{Timestamp, installation, vault_key};
use futures::FutureExt;
use sea_orm::{EntityTrait, QueryOrder};
use uuid::Uuid;

use super::context::Context;
use crate::clock::Ids;
use crate::config::Environment;
use crate::error::Error;
use crate::store::{ConnectError, Store};
use crate::vault::{HashKeys, Key, OperatorKeys, Purpose, Vault, VaultError, Wrapped};

/// Why a database and this process do not belong together.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// It belongs to the other environment.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The operator's key does not open it.
    #[error("the vault key does not open this database: {0}")]
    Vault(#[from] VaultError),
    /// A key that every database has is not there.
    #[error("the database lacks one of its keys")]
    KeyMissing,
    /// The database failed.
    #[error("{0}")]
    Store(#[from] Error),
}

const ENVIRONMENT: &str = "environment";
/// Marks that the database has its keys: of two copies that start at once, one makes them.
const KEYS: &str = "keys";
/// What a data key is filed under; hash keys are filed under their purpose.
const DATA: &str = "data";

/// Claim an empty database for `environment`, or refuse one of the other.
pub async fn claim(store: &Store, environment: Environment) -> Result<(), InstallationError> {
    let row = installation::Model { name: ENVIRONMENT.into(), value: environment.name().into() };
    let found = store
        .write(row, |tx, row| {
            async move {
                let found = installation::Entity::find_by_id(ENVIRONMENT).one(tx).await?;
                if found.is_none() {
                    tx.append(row);
                }
                Ok(found)
            }
            .boxed()
        })
        .await?;
    match found {
        Some(found) if found.value != environment.name() => {
            Err(ConnectError::Environment(found.value).into())
        }
        _ => Ok(()),
    }
}

/// Whether the database answers.
pub async fn answers(ctx: &Context) -> Result<(), Error> {
    installation::Entity::find_by_id(ENVIRONMENT).one(ctx.store.read()).await?;
    Ok(())
}

/// Open the database's keys; an empty database gets its first ones.
pub async fn vault(
    store: &Store,
    operator: &OperatorKeys,
    ids: &Ids,
    now: Timestamp,
) -> Result<Vault, InstallationError> {
    let purposes = [DATA].into_iter().chain(Purpose::ALL.iter().map(|purpose| purpose.name()));
    let fresh: Vec<vault_key::Model> =
        purposes.map(|purpose| wrapped(operator, ids.next(), purpose, now)).collect();
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
                let youngest_first = vault_key::Entity::find().order_by_desc(vault_key::Column::CreatedAt);
                Ok(youngest_first.all(tx).await?)
            }
            .boxed()
        })
        .await?;
    let open = |row: &vault_key::Model| {
        let wrapped = Wrapped { by: row.wrapped_by.clone(), bytes: row.wrapped.clone() };
        operator.unwrap(&context(row.id, &row.purpose), &wrapped)
    };
    let hash_key = |purpose: Purpose| {
        let row =
            rows.iter().find(|row| row.purpose == purpose.name()).ok_or(InstallationError::KeyMissing)?;
        Ok::<_, InstallationError>(open(row)?)
    };
    let hash_keys = HashKeys {
        api_key: hash_key(Purpose::ApiKey)?,
        fingerprint: hash_key(Purpose::Fingerprint)?,
        link: hash_key(Purpose::Link)?,
    };
    let mut data_keys = Vec::new();
    for row in rows.iter().filter(|row| row.purpose == DATA) {
        data_keys.push((row.id, open(row)?));
    }
    // Youngest first.
    let mut data_keys = data_keys.into_iter();
    let current = data_keys.next().ok_or(InstallationError::KeyMissing)?;
    Ok(Vault::new(current, data_keys, hash_keys))
}

fn wrapped(operator: &OperatorKeys, id: Uuid, purpose: &str, created_at: Timestamp) -> vault_key::Model {
    let wrapped = operator.wrap(&context(id, purpose), &Key::random());
    vault_key::Model {
        id,
        purpose: purpose.into(),
        wrapped_by: wrapped.by,
        wrapped: wrapped.bytes,
        created_at,
    }
}

/// A wrapped key opens only as what it was filed under.
fn context(id: Uuid, purpose: &str) -> Vec<u8> {
    format!("{purpose} key {id}").into_bytes()
}
