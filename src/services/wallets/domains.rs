//! Domains whose pages may use walletA (`docs/decisions.md`, 228).

use entity::Owned;
use entity::wallet_domain::{self, Column};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter};

use super::enabled;
use crate::error::{Error, ErrorCode};
use crate::limits::WALLET_TIMEOUT;
use crate::params::values::USED;
use crate::params::{FieldErrors, Paging, Params};
use crate::services::context::{Account, Caller, Context};
use crate::services::idempotency;
use crate::services::page::{List, ListPage};
use crate::services::wallets::params::NamedDomain;
use crate::services::wallets::view::WalletDomain;

/// The path of the verification file, as the provider defines it.
const VERIFICATION_FILE: &str = "/.well-known/apple-developer-merchantid-domain-association";

/// Registers a domain that hosts the provider's verification file.
///
/// Refusals, first match wins: `api_unavailable`, `invalid_resource`.
pub async fn register(
    ctx: &Context,
    caller: &Caller,
    params: Params<NamedDomain>,
) -> Result<WalletDomain, Error> {
    let account = &caller.account;
    enabled(account)?;
    let domain_name = params.valid()?.domain_name.to_ascii_lowercase();
    if find(ctx, account, &domain_name).await?.is_some() {
        return Err(FieldErrors::one("domain_name", USED).into());
    }
    if !is_verified(ctx, &domain_name).await {
        return Err(FieldErrors::one("domain_name", "does not host the verification file").into());
    }
    let row = wallet_domain::Model {
        account_id: account.id(),
        id: ctx.ids.token(),
        domain_name,
        created_at: account.now,
    };
    let unit = idempotency::write(ctx, caller, row, async |tx, row| {
        let insert = wallet_domain::Entity::insert(row.clone().into_active_model());
        let insert = insert.on_conflict(OnConflict::new().do_nothing().to_owned());
        match insert.exec_without_returning(tx).await? {
            0 => Err(FieldErrors::one("domain_name", USED).into()),
            _ => Ok(WalletDomain::from(row.clone())),
        }
    });
    unit.await
}

/// Checks that the domain hosts the file. Names in test belong to nobody, so none is called: only names that can never
/// exist fail.
async fn is_verified(ctx: &Context, domain_name: &str) -> bool {
    if ctx.wallets.simulated.is_some() {
        return !domain_name.ends_with(".invalid");
    }
    let file = format!("https://{domain_name}{VERIFICATION_FILE}");
    ctx.outbound.get(&file, WALLET_TIMEOUT).await == Ok(200)
}

pub(super) async fn find(
    ctx: &Context,
    account: &Account,
    domain_name: &str,
) -> Result<Option<wallet_domain::Model>, Error> {
    let named = wallet_domain::Entity::owned_by(account.id())
        .filter(Column::DomainName.eq(domain_name.to_ascii_lowercase()));
    Ok(named.one(ctx.store.read()).await?)
}

/// Lists the account's domains, newest first.
///
/// Refusals, first match wins: `api_unavailable`, `invalid_resource`.
pub async fn list(
    ctx: &Context,
    account: &Account,
    paging: Params<Paging>,
) -> Result<ListPage<WalletDomain>, Error> {
    enabled(account)?;
    let rows = wallet_domain::Entity::owned_by(account.id());
    let page = List::newest_first(account.id(), rows).ranged(ctx, paging.valid()?).await?;
    Ok(page.map(WalletDomain::from))
}

/// Returns the domain of a registered name. A malformed name is not registered.
///
/// Refusals, first match wins: `api_unavailable`, `invalid_resource` if no name is given, `not_found`.
pub async fn check(
    ctx: &Context,
    account: &Account,
    params: Params<NamedDomain>,
) -> Result<WalletDomain, Error> {
    enabled(account)?;
    if !params.faults.is_empty() && !params.value.domain_name.is_empty() {
        return Err(ErrorCode::NotFound.into());
    }
    let row = find(ctx, account, &params.valid()?.domain_name).await?;
    Ok(WalletDomain::from(row.ok_or(ErrorCode::NotFound)?))
}

/// Deletes a domain.
///
/// Refusals, first match wins: `api_unavailable`, `not_found`.
pub async fn delete(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    super::delete::<wallet_domain::Entity>(ctx, caller, token).await
}
