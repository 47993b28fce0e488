//! GET and PUT /sandbox/acquirer: the faults that the account's acquirer injects.

use entity::{AccountToken, AcquirerFaults, JsonText, account};
use store::Tx;

use crate::error::Error;
use crate::params::{Params, Patch};
use crate::services::accounts::{faults, settings};
use crate::services::context::{Account, Caller, Context};
use crate::services::idempotency;
use crate::services::sandbox::params::{ChangedFaults, probability};
use crate::services::sandbox::view::Faults;

/// Returns the configured faults.
pub fn show(account: &Account) -> Result<Faults, Error> {
    Ok(faults::faults_of(account.settings())?.into())
}

/// Configures faults; absent fields stay. Resets the count of calls, so that the same configuration gives the same run.
///
/// Refusals: `invalid_resource`.
pub async fn change(ctx: &Context, caller: &Caller, params: Params<ChangedFaults>) -> Result<Faults, Error> {
    let change = (caller.account.id(), params.valid()?);
    let unit =
        idempotency::write(ctx, caller, change, async |tx, (id, changes)| record(tx, *id, changes).await);
    unit.await
}

async fn record(tx: &Tx, id: AccountToken, changes: &ChangedFaults) -> Result<Faults, Error> {
    let row = settings::lock_account(tx, id).await?;
    let stays = faults::faults_of(&row)?;
    let ordered = AcquirerFaults {
        latency_ms: changes.latency_ms.unwrap_or(stays.latency_ms),
        decline: match changes.decline {
            Some(Patch::Value(decline)) => Some(decline),
            Some(Patch::Blank) => None,
            Some(Patch::Absent) | None => stays.decline,
        },
        gateway_error_rate: probability(changes.gateway_error_rate.as_deref())
            .unwrap_or(stays.gateway_error_rate),
        drop_rate: probability(changes.drop_rate.as_deref()).unwrap_or(stays.drop_rate),
        seed: changes.seed.unwrap_or(stays.seed),
    };
    let change = account::Model {
        acquirer_faults: Some(JsonText::encode(&ordered)?),
        acquirer_calls: 0,
        ..row.clone()
    };
    tx.update(&row, &change).await?;
    Ok(ordered.into())
}
