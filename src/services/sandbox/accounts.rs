//! POST and DELETE /sandbox/accounts: an isolated account for one run of tests.

use futures::FutureExt;

use crate::error::Error;
use crate::params::Params;
use crate::params::sandbox::NewSandboxAccount;
pub use crate::services::accounts::wipe::close as delete;
use crate::services::accounts::{ApiKeyPair, NewAccount};
use crate::services::context::{Caller, Context};
use crate::services::idempotency;
use crate::views::sandbox::SandboxKeys;

/// Creates an account with its own keys, clock and opening deposit.
///
/// Refusals: `invalid_resource`.
pub async fn create(
    ctx: &Context,
    caller: &Caller,
    params: Params<NewSandboxAccount>,
) -> Result<SandboxKeys, Error> {
    let new_account = params.valid()?;
    let keys = ApiKeyPair::mint(&ctx.chance);
    let mut new = NewAccount::new(ctx, "Sandbox", "sandbox@example.com", &keys);
    new.row.made_by = Some(caller.account.id());
    new.row.partner = new_account.partner.unwrap_or(true);
    new.row.disputes = new_account.disputes.unwrap_or(true);
    new.row.wallet = new_account.wallet.unwrap_or(true);
    let shown = SandboxKeys {
        token: new.row.id,
        secret_key: keys.secret.expose().into(),
        publishable_key: keys.publishable.expose().into(),
    };
    let unit = idempotency::write(ctx, caller, (new, shown), |tx, (new, shown)| {
        async move {
            new.record(tx).await?;
            Ok(shown.clone())
        }
        .boxed()
    });
    unit.await
}
