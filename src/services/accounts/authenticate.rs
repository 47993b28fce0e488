//! Finds the account of an API key.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::request_context;
use base::secret::Secret;
use entity::api_key::KeyKind;
use entity::{AccountToken, account, api_key};
use sea_orm::{EntityTrait, QueryTrait};
use store::CachedStatement;
use subtle::ConstantTimeEq;
use vault::{Purpose, Vault};

use super::access::{Access, access};
use super::account_row::{AccountJoin, AccountRow, AccountWith, IS_PRESENT};
use super::restricted_keys::works_from;
use crate::error::{Error, ErrorCode};
use crate::services::context::{Account, Context};
use crate::services::idempotency::{StoredClaim, claim};
use crate::services::memory::key_uses::UsedKey;
use crate::services::memory::known_keys::KeyEntry;

/// An API key's account.
#[derive(Debug)]
pub struct AuthenticatedAccount {
    /// The account that the key belongs to.
    pub account: Account,
    /// The kind of the key, which decides what it may do.
    pub kind: KeyKind,
    /// The claim of the request's Idempotency-Key by an earlier request; `None` also if nobody has looked for it.
    pub claimed: Option<StoredClaim>,
}

/// Authenticates a key and finds the earlier claim of the Idempotency-Key, in one statement.
///
/// Refusals: unauthorized.
pub async fn authenticate(
    ctx: &Context,
    key: &Secret,
    idempotency_key: Option<&str>,
) -> Result<AuthenticatedAccount, Error> {
    let hash = key_hash(&ctx.vault, key);
    let entry = find_key(ctx, hash).await?;
    let (row, claimed) = match idempotency_key {
        None => (load_account(ctx, entry.account).await?, None),
        Some(key) => match with_claim(ctx, &entry, key).await? {
            Some(AccountWith(row, claimed)) => (Some(row), claimed),
            None => (None, None),
        },
    };
    let opened = authenticated_account(ctx, entry, row, claimed)?;
    count_use(ctx, &opened, key, hash);
    Ok(opened)
}

/// Authenticates a key and reads the requested record, in one statement.
///
/// Refusals: unauthorized.
pub async fn authenticate_and_find<B: AccountJoin>(
    ctx: &Context,
    key: &Secret,
    joined: &B,
) -> Result<(AuthenticatedAccount, Option<B::Record>), Error> {
    let hash = key_hash(&ctx.vault, key);
    let entry = find_key(ctx, hash).await?;
    let (row, record) = match load_account_with(ctx, entry.account, joined).await? {
        Some(AccountWith(row, record)) => (Some(row), record),
        None => (None, None),
    };
    let opened = authenticated_account(ctx, entry, row, None)?;
    count_use(ctx, &opened, key, hash);
    Ok((opened, record))
}

/// Authenticates like [`authenticate`], for callers that have only the key's hash.
///
/// Refusals: unauthorized.
pub async fn authenticate_hashed(ctx: &Context, hash: [u8; 32]) -> Result<AuthenticatedAccount, Error> {
    let entry = find_key(ctx, hash).await?;
    let row = load_account(ctx, entry.account).await?;
    authenticated_account(ctx, entry, row, None)
}

/// Reads the requested record for a caller that has authenticated before.
pub async fn find_with_account<B: AccountJoin>(
    ctx: &Context,
    account: AccountToken,
    joined: &B,
) -> Result<Option<B::Record>, Error> {
    Ok(load_account_with(ctx, account, joined).await?.and_then(|AccountWith(_, record)| record))
}

/// Returns the hash under which a key is stored.
pub fn key_hash(vault: &Vault, key: &Secret) -> [u8; 32] {
    vault.keyed_hash(Purpose::ApiKey, &[key.expose().as_bytes()])
}

/// Returns the cached or stored entry of a key that is valid by the wall clock.
pub(super) async fn find_key(ctx: &Context, hash: [u8; 32]) -> Result<KeyEntry, Error> {
    let entry = if let Some(entry) = ctx.memory.keys.get(&hash).await {
        entry
    } else {
        let changes = ctx.memory.key_changes.load(Ordering::Acquire);
        let entry = load_key(ctx, &hash).await?.ok_or(ErrorCode::Unauthorized)?;
        ctx.memory.keys.insert(hash, entry.clone()).await;
        // A key that was changed after it was read, and forgotten before it was inserted.
        if ctx.memory.key_changes.load(Ordering::Acquire) != changes {
            ctx.memory.keys.invalidate(&hash).await;
        }
        entry
    };
    if entry.has_ended(ctx.clock.now()) {
        return Err(ErrorCode::Unauthorized.into());
    }
    Ok(entry)
}

async fn load_key(ctx: &Context, hash: &[u8; 32]) -> Result<Option<KeyEntry>, Error> {
    let row = api_key::Entity::find_by_id(hash.to_vec()).one(ctx.store.read()).await?;
    // The index found the row by parts of the hash; the whole hash is compared in constant time.
    let row = row.filter(|row| row.hash.as_slice().ct_eq(hash).into());
    let entry = |row: api_key::Model| {
        KeyEntry::new(*hash, row.account_id, row.kind, row.valid_until, row.restriction.as_ref())
    };
    row.map(entry).transpose()
}

async fn load_account(ctx: &Context, account: AccountToken) -> Result<Option<account::Model>, Error> {
    static ACCOUNT: CachedStatement = CachedStatement::new();
    let word = || account::Entity::find_by_id(account).into_query();
    let found = ACCOUNT.one(ctx.store.read(), vec![account.into()], word).await?;
    Ok(found.map(|AccountRow(row)| row))
}

async fn with_claim(
    ctx: &Context,
    entry: &KeyEntry,
    idempotency_key: &str,
) -> Result<Option<AccountWith<StoredClaim>>, Error> {
    static WITH_CLAIM: CachedStatement = CachedStatement::new();
    let hash = claim::hash(&ctx.vault, entry.kind, idempotency_key).to_vec();
    let word = || {
        let mut both = account::Entity::find_by_id(entry.account).into_query();
        StoredClaim::join(hash.clone(), IS_PRESENT, &mut both);
        both
    };
    let values = vec![hash.clone().into(), entry.account.into()];
    Ok(WITH_CLAIM.one(ctx.store.read(), values, word).await?)
}

async fn load_account_with<B: AccountJoin>(
    ctx: &Context,
    account: AccountToken,
    joined: &B,
) -> Result<Option<AccountWith<B::Record>>, Error> {
    let backend = ctx.store.backend();
    let word = || {
        let mut both = account::Entity::find_by_id(account).into_query();
        joined.join(backend, account, &mut both);
        both
    };
    let mut values = joined.values(backend, account);
    values.push(account.into());
    Ok(B::statement().one(ctx.store.read(), values, word).await?)
}

/// Builds the result. A cached key may outlive its account; a restricted key is none outside of its networks.
pub(super) fn authenticated_account(
    ctx: &Context,
    entry: KeyEntry,
    row: Option<impl Into<Arc<account::Model>>>,
    claimed: Option<StoredClaim>,
) -> Result<AuthenticatedAccount, Error> {
    let row: Option<Arc<_>> = row.map(Into::into);
    let row = row.filter(|row| row.closed_at.is_none());
    let row = row.filter(|row| access(ctx.environment, row.status) != Access::None);
    let row = row.filter(|_| works_from(&entry, request_context::address()));
    let mut account = Account::new(row.ok_or(ErrorCode::Unauthorized)?, ctx.clock.now());
    let kind = entry.kind;
    account.key = Some(entry);
    Ok(AuthenticatedAccount { account, kind, claimed })
}

pub(super) fn count_use(ctx: &Context, opened: &AuthenticatedAccount, key: &Secret, hash: [u8; 32]) {
    ctx.memory.key_uses.count(UsedKey::new(opened.account.id(), opened.kind, key, hash), ctx.clock.now());
}
