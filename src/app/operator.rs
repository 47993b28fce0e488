//! Context and store for operator commands, which run with or without a server.

use std::sync::Arc;

use acquirer::simulator::Simulator;
use base::clock::IdGenerator;
use base::random::RandomSource;
use entity::TimeSpan;
use outbound::Outbound;
use outbound::blobs::Disk;
use store::Location;

use super::{Parts, StartError, address_policy, clock_and_random, context, operator};
use crate::Store;
use crate::config::{DatabaseOptions, Secrets};
use crate::limits::{ACQUIRER_TIMEOUT, CLOCK_MOVE_TIMEOUT, RETENTION_DAYS_MIN};
use crate::services::wallets::Wallets;
use crate::services::{Ctx, installation};

/// Builds the context of an operator command: the database of a server, which may be running, and its keys. It calls
/// neither an acquirer nor any other host.
pub async fn operator_context(database: &DatabaseOptions, secrets: &Secrets) -> Result<Ctx, StartError> {
    let environment = database.environment;
    let folder = database.data_dir.join("files");
    let (clock, random) = clock_and_random(database)?;
    let location = database.location()?;
    refuse_beside_a_server(&location, &random)?;
    let parts = Parts {
        operator: operator(database, secrets, &random).await?,
        clock,
        random,
        acquirer: Arc::new(Simulator::for_environment(environment)),
        acquirer_timeout: ACQUIRER_TIMEOUT,
        environment,
        outbound: Outbound::new(address_policy(environment, &[])),
        wallets: Wallets::default(),
        blobs: Arc::new(Disk::new(folder.clone())),
        incoming: folder,
        audit_anchor: None,
        provider: None,
        break_glass: false,
        retention: TimeSpan::days(RETENTION_DAYS_MIN),
        erase_after: None,
        clock_move_timeout: CLOCK_MOVE_TIMEOUT,
        recorder: None,
    };
    context(&location, None, parts, "").await
}

/// Opens a server's database for a command that writes and needs no keys. With a seed, the command draws from the seed
/// and starts a new run, as a server does.
pub async fn operator_store(location: &Location, database: &DatabaseOptions) -> Result<Store, StartError> {
    let (_, random) = clock_and_random(database)?;
    let (found, seed) = (store::read_installation(location).await?, random.fingerprint());
    installation::refuse_other(found.environment.as_deref(), database.environment)?;
    installation::refuse_other_seed(found.seed.as_deref(), found.keys.is_empty(), seed.as_deref())?;
    refuse_beside_a_server(location, &random)?;
    let store = Store::open(location, Arc::new(IdGenerator::new(Arc::clone(&random)))).await?;
    // An empty database has nothing to change; it is not assigned to an environment.
    if !found.keys.is_empty() {
        random.begin(installation::begin(&store, seed).await?);
    }
    Ok(store)
}

/// Refuses a seeded command while a server runs on the SQLite file: the command's ids sort above all earlier ones, and
/// the running server would then create ids below them. For PostgreSQL this cannot be checked.
fn refuse_beside_a_server(location: &Location, random: &RandomSource) -> Result<(), StartError> {
    if random.is_seeded() {
        drop(location.lock()?);
    }
    Ok(())
}
