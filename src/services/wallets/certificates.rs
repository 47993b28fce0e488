//! Keys to which walletA encrypts payloads: generated here, certified by the provider (`docs/decisions.md`, 227).

use entity::wallet_certificate::{self, CertificateState, Column};
use entity::{AccountToken, Owned, WalletCertificateToken};
use sea_orm::{ColumnTrait, QueryFilter};
use store::Tx;
use wallet::certificate::{Certified, MerchantKey};
use wallet::{Merchant, Unreadable};

use super::enabled;
use crate::error::{Error, ErrorCode};
use crate::params::values::INVALID;
use crate::params::{FieldErrors, Paging, Params};
use crate::services::by_key;
use crate::services::context::{Account, Caller, Context};
use crate::services::data_keys::reencrypt::SealedTable;
use crate::services::data_keys::unseal;
use crate::services::idempotency;
use crate::services::page::{List, ListPage};
use crate::services::wallets::params::IssuedCertificate;
use crate::services::wallets::view::WalletCertificate;

/// Generates a key and its certificate signing request.
///
/// Refusals: `api_unavailable`.
pub async fn create(ctx: &Context, caller: &Caller) -> Result<WalletCertificate, Error> {
    enabled(&caller.account)?;
    let row = generate(ctx, &caller.account)
        .map_err(|Unreadable| Error::internal("a key that was just made is none"))?;
    let unit = idempotency::write(ctx, caller, row, async |tx, row| {
        tx.append(row);
        Ok(WalletCertificate::from(row.clone()))
    });
    unit.await
}

fn generate(ctx: &Context, account: &Account) -> Result<wallet_certificate::Model, Unreadable> {
    let (id, key) = (ctx.ids.token(), MerchantKey::generate(&ctx.random));
    let sealed = ctx.vault.seal(&context(account.id(), id), &key.to_bytes());
    Ok(wallet_certificate::Model {
        account_id: account.id(),
        id,
        state: CertificateState::Incomplete,
        public_key: key.public_pem()?,
        public_key_hash: key.public_hash()?,
        certificate_signing_request: key.signing_request()?,
        key_sealed: sealed.bytes,
        sealed_by: sealed.key,
        merchant_id: None,
        valid_from: None,
        valid_until: None,
        created_at: account.now,
    })
}

/// Returns the associated data that binds an encrypted key to its certificate.
fn context(account: AccountToken, id: WalletCertificateToken) -> Vec<u8> {
    format!("key of {id} of {account}").into_bytes()
}

impl SealedTable for wallet_certificate::Entity {
    const SEALED_BY: Column = Column::SealedBy;
    const SEALED: &'static [Column] = &[Column::KeySealed];

    fn context(row: &wallet_certificate::Model, _: Column) -> Vec<u8> {
        context(row.account_id, row.id)
    }
}

/// Lists the account's certificates, newest first.
///
/// Refusals, first match wins: `api_unavailable`, `invalid_resource`.
pub async fn list(
    ctx: &Context,
    account: &Account,
    paging: Params<Paging>,
) -> Result<ListPage<WalletCertificate>, Error> {
    enabled(account)?;
    let rows = wallet_certificate::Entity::owned_by(account.id());
    let page = List::newest_first(account.id(), rows).ranged(ctx, paging.valid()?).await?;
    Ok(page.map(WalletCertificate::from))
}

/// Returns one certificate.
///
/// Refusals, first match wins: `api_unavailable`, `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<WalletCertificate, Error> {
    enabled(account)?;
    Ok(WalletCertificate::from(find(ctx, account, token).await?.ok_or(ErrorCode::NotFound)?))
}

pub async fn find(
    ctx: &Context,
    account: &Account,
    token: &str,
) -> Result<Option<wallet_certificate::Model>, Error> {
    let rows = wallet_certificate::Entity::owned_by(account.id());
    by_key::find_among(ctx.store.read(), rows, token).await
}

/// Stores the certificate that the provider has issued. It must certify a key of the account that has no certificate
/// yet, and be valid now by the wall clock: the provider does not know the account's clock.
///
/// Refusals, first match wins: `api_unavailable`, `invalid_resource`.
pub async fn complete(
    ctx: &Context,
    caller: &Caller,
    params: Params<IssuedCertificate>,
) -> Result<WalletCertificate, Error> {
    enabled(&caller.account)?;
    let certified = Certified::read(&params.valid()?.pem).map_err(|Unreadable| unfit())?;
    if !certified.is_valid(ctx.clock.now()) {
        return Err(unfit());
    }
    let incomplete = wallet_certificate::Entity::owned_by(caller.account.id())
        .filter(Column::PublicKeyHash.eq(certified.public_key_hash.as_str()))
        .one(ctx.store.read())
        .await?;
    let seen = incomplete.ok_or_else(unfit)?;
    let row = wallet_certificate::Model {
        state: CertificateState::Active,
        merchant_id: Some(certified.merchant_id),
        valid_from: Some(certified.valid_from),
        valid_until: Some(certified.valid_until),
        ..seen.clone()
    };
    idempotency::write(ctx, caller, (seen, row), async |tx, (seen, row)| activate(tx, seen, row).await).await
}

/// Activates a key. If two certificates are uploaded for it, the first counts.
async fn activate(
    tx: &Tx,
    seen: &wallet_certificate::Model,
    row: &wallet_certificate::Model,
) -> Result<WalletCertificate, Error> {
    let incomplete = seen.state == CertificateState::Incomplete;
    if !incomplete || !tx.compare_and_swap(seen, row, &[Column::State]).await? {
        return Err(unfit());
    }
    Ok(WalletCertificate::from(row.clone()))
}

fn unfit() -> Error {
    FieldErrors::one("pem", INVALID).into()
}

/// Deletes a certificate and its key: payloads encrypted to that key can never be decrypted again.
///
/// Refusals, first match wins: `api_unavailable`, `not_found`.
pub async fn delete(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    super::delete::<wallet_certificate::Entity>(ctx, caller, token).await
}

/// Returns the merchant whose key a payload names.
pub async fn merchant(
    ctx: &Context,
    account: &Account,
    public_key_hash: &str,
) -> Result<Option<Merchant>, Error> {
    let active = wallet_certificate::Entity::owned_by(account.id())
        .filter(Column::PublicKeyHash.eq(public_key_hash))
        .filter(Column::State.eq(CertificateState::Active))
        .one(ctx.store.read())
        .await?;
    let Some(row) = active else { return Ok(None) };
    let key = unseal(ctx, &context(row.account_id, row.id), row.sealed_by, &row.key_sealed).await?;
    let key = MerchantKey::from_bytes(&key).map_err(|Unreadable| Error::internal("a sealed key is none"))?;
    Ok(row.merchant_id.map(|merchant_id| Merchant { key, merchant_id }))
}
