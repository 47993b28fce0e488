//! A database belongs to one environment and holds its keys, wrapped by the operator's vault key.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use entity::installation::{self, Column};
use entity::{AccountToken, SnapshotToken, vault_key};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter};
use sha2::{Digest as _, Sha256};
use store::{ConnectError, FoundKey, RESTORING};
use uuid::Uuid;
use vault::{Purpose, VaultError};

use super::context::Context;
use crate::Store;
use crate::config::Environment;
use crate::error::{Error, ErrorCode};

/// The reasons why this process may not use a database.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// The database belongs to the other environment.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The operator's vault key does not unwrap the database's keys.
    #[error("the vault key does not open this database: {0}")]
    Vault(#[from] VaultError),
    /// The database was created without a seed, or with another one.
    #[error("CARD_PAYMENTS_SEED is not the seed of this database; a new seed needs an empty database")]
    OtherSeed,
    /// The database was created with a seed, but none is given.
    #[error("this database needs the CARD_PAYMENTS_SEED that it was created with")]
    SeedMissing,
    /// A key that every database has is missing.
    #[error("the database lacks one of its keys")]
    KeyMissing,
    /// The database failed.
    #[error("{0}")]
    Store(#[from] Error),
}

const ENVIRONMENT: &str = "environment";
/// Marks that the database has its keys and is no longer empty: of two servers that start at once, one creates the
/// keys.
pub const KEYS: &str = "keys";
/// The fingerprint of the database's seed
/// ([`RandomSource::fingerprint`](base::random::RandomSource::fingerprint)) and the number of starts with it.
const SEED: &str = "seed";

/// Returns what identifies an installation on /healthz and for `check`: the hashed id of a key that no rotation replaces.
fn fingerprint(key: Uuid) -> String {
    let hash = Sha256::digest([b"card-payments installation".as_slice(), key.as_bytes()].concat());
    URL_SAFE_NO_PAD.encode(&hash[..12])
}

/// Returns the fingerprint of a database with these keys, or none if it has no keys yet.
pub fn found_fingerprint(keys: &[FoundKey]) -> Option<String> {
    let key = keys.iter().find(|key| key.purpose == Purpose::Fingerprint.name())?;
    Some(fingerprint(key.id))
}

/// Reads the fingerprint of an open database.
pub async fn read_fingerprint(store: &Store) -> Result<String, InstallationError> {
    let key = vault_key::Entity::find().filter(vault_key::Column::Purpose.eq(Purpose::Fingerprint.name()));
    let key = key.one(store.read()).await.map_err(Error::from)?;
    key.map(|key| fingerprint(key.id)).ok_or(InstallationError::KeyMissing)
}

/// Claims an empty database for `environment`, or refuses one of the other environment.
pub async fn claim(store: &Store, environment: Environment) -> Result<(), InstallationError> {
    let row = installation::Model { name: ENVIRONMENT.into(), value: environment.name().into() };
    let found = store
        .write(row, async |tx, row| {
            let found = installation::Entity::find_by_id(ENVIRONMENT).one(tx).await?;
            if found.is_none() {
                tx.append(row);
            }
            Ok(found)
        })
        .await?;
    refuse_other(found.as_ref().map(|found| found.value.as_str()), environment)
}

/// Refuses a database of the other environment before anything in it changes. A database without an environment stays
/// unclaimed.
pub fn refuse_other(found: Option<&str>, environment: Environment) -> Result<(), InstallationError> {
    match found {
        Some(found) if found != environment.name() => Err(ConnectError::Environment(found.into()).into()),
        Some(_) | None => Ok(()),
    }
}

/// Refuses a database that was created with another seed, or without one; `kept` is the stored seed. An empty database
/// accepts any seed.
pub fn refuse_other_seed(
    kept: Option<&str>,
    is_empty: bool,
    seed: Option<&str>,
) -> Result<(), InstallationError> {
    match (kept.and_then(|kept| kept.split_once(' ')), seed) {
        (None, None) => Ok(()),
        (None, Some(_)) if is_empty => Ok(()),
        (Some((own, _)), Some(seed)) if own == seed => Ok(()),
        (Some(_), None) => Err(InstallationError::SeedMissing),
        (Some(_) | None, Some(_)) => Err(InstallationError::OtherSeed),
    }
}

/// Starts with a seed, or without. Returns the number of starts with this seed on this database, this one included.
pub async fn begin(store: &Store, seed: Option<String>) -> Result<u32, InstallationError> {
    let (kept, is_empty) = store
        .write(seed.clone(), async |tx, seed| {
            let kept = installation::Entity::find_by_id(SEED).one(tx).await?.map(|row| row.value);
            let is_empty = installation::Entity::find_by_id(KEYS).one(tx).await?.is_none();
            let refused = refuse_other_seed(kept.as_deref(), is_empty, seed.as_deref()).is_err();
            if let Some(seed) = seed.as_ref().filter(|_| !refused) {
                let value = format!("{seed} {}", starts(kept.as_deref()) + 1);
                let row = installation::Model { name: SEED.into(), value };
                let known = OnConflict::column(Column::Name).update_column(Column::Value).to_owned();
                let begun = installation::Entity::insert(row.into_active_model()).on_conflict(known);
                begun.exec_without_returning(tx).await?;
            }
            Ok((kept, is_empty))
        })
        .await?;
    refuse_other_seed(kept.as_deref(), is_empty, seed.as_deref())?;
    Ok(starts(kept.as_deref()) + 1)
}

/// Counts at least this many starts with the seed, of which the database has one.
pub async fn skip_starts(store: &Store, at_least: u32) -> Result<(), Error> {
    let unit = store.write(at_least, async |tx, at_least| {
        let Some(row) = installation::Entity::find_by_id(SEED).one(tx).await? else { return Ok(()) };
        let seed = row.value.split_once(' ').map_or("", |(seed, _)| seed);
        let starts = starts(Some(&row.value)).max(*at_least);
        let later = installation::Model { value: format!("{seed} {starts}"), ..row.clone() };
        Ok(tx.update(&row, &later).await?)
    });
    unit.await
}

fn starts(kept: Option<&str>) -> u32 {
    kept.and_then(|kept| kept.split_once(' ')?.1.parse().ok()).unwrap_or_default()
}

/// Checks that the database answers and accepts writes; after a failed write, it proves that with a new one. Also
/// checks that the acquirer has answered since the process started: otherwise only a payment would show whether the two
/// know each other.
pub async fn check_health(ctx: &Context) -> Result<(), Error> {
    if !ctx.acquirer.is_known().await || !ctx.store.is_writable() {
        return Err(ErrorCode::ServiceUnavailable.into());
    }
    installation::Entity::find_by_id(ENVIRONMENT).one(ctx.store.read()).await?;
    Ok(ctx.store.prove_writable().await?)
}

/// Returns the mark of an account whose rows a snapshot replaces in several commits. Its value is the snapshot.
pub fn restoring_mark(account: AccountToken, snapshot: SnapshotToken) -> installation::Model {
    installation::Model { name: format!("{RESTORING}{account}"), value: snapshot.to_string() }
}

/// Refuses a command about accounts while rows of one of them are being replaced: the server's fence keeps no other process out.
///
/// Refusals: `service_unavailable`.
pub async fn refuse_while_restoring(
    db: &impl ConnectionTrait,
    accounts: &[AccountToken],
) -> Result<(), Error> {
    let is_restoring = restoring(db).await?.iter().any(|(account, _)| accounts.contains(account));
    if is_restoring { Err(ErrorCode::ServiceUnavailable.into()) } else { Ok(()) }
}

/// Returns the accounts whose rows are being replaced, each with its snapshot.
pub async fn restoring(db: &impl ConnectionTrait) -> Result<Vec<(AccountToken, SnapshotToken)>, Error> {
    let marks = installation::Entity::find().filter(Column::Name.starts_with(RESTORING)).all(db).await?;
    let read = |mark: &installation::Model| {
        Some((mark.name.strip_prefix(RESTORING)?.parse().ok()?, mark.value.parse().ok()?))
    };
    Ok(marks.iter().filter_map(read).collect())
}
