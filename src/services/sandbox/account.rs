//! GET and PUT /sandbox/account.

use crate::error::Error;
use crate::params::Params;
use crate::services::accounts::params::ChangedSettings;
use crate::services::accounts::settings;
use crate::services::context::{Account, Caller, Context};
use crate::services::idempotency;
use crate::services::sandbox::params::ChangedAccount;
use crate::services::sandbox::view::SandboxAccount;

/// Returns the account's switches and settings.
pub fn show(account: &Account) -> SandboxAccount {
    account.settings().into()
}

/// Changes the settings that were sent; the rest stays.
///
/// Refusals: `invalid_resource`.
pub async fn change(
    ctx: &Context,
    caller: &Caller,
    params: Params<ChangedAccount>,
) -> Result<SandboxAccount, Error> {
    let change = (caller.account.id(), caller.account.now, ChangedSettings::from(params.valid()?));
    let unit = idempotency::write(ctx, caller, change, async |tx, (id, now, changes)| {
        Ok(SandboxAccount::from(&settings::record(tx, *id, *now, changes).await?))
    });
    unit.await
}
