//! POST and DELETE /sandbox/accounts: an isolated account for one run of tests.

use entity::AccountToken;
use entity::account::{self, Column};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use crate::error::Error;
use crate::limits::ACCOUNTS_OFFERED;
use crate::params::Params;
use crate::services::accounts::view::AccountSettings;
pub use crate::services::accounts::wipe::close as delete;
use crate::services::accounts::{self, ApiKeyPair, NewAccount};
use crate::services::context::{Account, Caller, Context};
use crate::services::idempotency;
use crate::services::sandbox::params::NewSandboxAccount;
use crate::services::sandbox::view::SandboxKeys;

/// Creates an account with its own keys, clock and opening deposit. A name distinguishes it from others in the dashboard.
///
/// Refusals: `invalid_resource`.
pub async fn create(
    ctx: &Context,
    caller: &Caller,
    params: Params<NewSandboxAccount>,
    name: Option<&str>,
) -> Result<SandboxKeys, Error> {
    let new_account = params.valid()?;
    let keys = ApiKeyPair::mint(&ctx.random);
    let mut new = NewAccount::new(ctx, name.unwrap_or("Sandbox"), "sandbox@example.com", &keys);
    new.row.made_by = Some(caller.account.id());
    new.row.partner = new_account.partner.unwrap_or(true);
    new.row.disputes = new_account.disputes.unwrap_or(true);
    new.row.wallet = new_account.wallet.unwrap_or(true);
    let shown = SandboxKeys {
        token: new.row.id,
        secret_key: keys.secret.expose().into(),
        publishable_key: keys.publishable.expose().into(),
    };
    let unit = idempotency::write(ctx, caller, (new, shown), async |tx, (new, shown)| {
        new.record(tx).await?;
        Ok(shown.clone())
    });
    unit.await
}

/// Returns the accounts that an account has made, newest first: at most [`ACCOUNTS_OFFERED`].
pub async fn list_made(ctx: &Context, maker: &Account) -> Result<Vec<AccountSettings>, Error> {
    let made = account::Entity::find()
        .filter(Column::MadeBy.eq(maker.id()))
        .filter(Column::ClosedAt.is_null())
        .order_by_desc(Column::Id)
        .limit(ACCOUNTS_OFFERED);
    Ok(made.all(ctx.store.read()).await?.into_iter().map(AccountSettings::from).collect())
}

/// Finds an account that another one has made.
pub async fn find_made(
    ctx: &Context,
    maker: &Account,
    token: AccountToken,
) -> Result<Option<Account>, Error> {
    let account = accounts::find_by_token(&ctx.store, token, ctx.clock.now()).await?;
    Ok(account.filter(|account| account.settings().made_by == Some(maker.id())))
}
