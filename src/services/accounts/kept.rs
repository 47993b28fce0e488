//! The accounts that a process keeps for payments (`services/account_version.rs`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::secret::Secret;
use entity::api_key::KeyKind;
use entity::{JsonText, Timestamp, account, api_key};
use sea_orm::{ColumnTrait, Condition, DbErr, EntityTrait, QueryFilter, QuerySelect, QueryTrait};
use store::{CachedStatement, ColumnReader, FromColumns};
use subtle::ConstantTimeEq;

use super::access::{Access, access};
use super::account_row::AccountRow;
use super::authenticate::{
    AuthenticatedAccount, authenticate, authenticated_account, count_use, find_key, key_hash,
};
use crate::error::{Error, ErrorCode};
use crate::services::account_version::{AccountVersion, AssumedVersion};
use crate::services::context::{Account, Context};
use crate::services::idempotency::claim;
use crate::services::memory::known_keys::{KeptAccount, KeyEntry};

/// Authenticates the key of a payment, by the account that the process keeps if there is one. The payment requires the version
/// of the account in its first commit, and is not refused before [`find_changed`] has found no other version. An Idempotency-Key
/// counts as free unless the process has seen it claimed: the first commit finds out.
///
/// Refusals: unauthorized.
pub async fn authenticate_payment(
    ctx: &Context,
    key: &Secret,
    idempotency_key: Option<&str>,
) -> Result<AuthenticatedAccount, Error> {
    // With a seed no payment may run twice: it would draw its ids twice.
    if !ctx.store.has_row_versions() || ctx.random.is_seeded() {
        return authenticate(ctx, key, idempotency_key).await;
    }
    let hash = key_hash(&ctx.vault, key);
    let kept = match ctx.memory.accounts.get(&hash).await {
        Some(kept) => kept,
        None => Box::pin(read(ctx, hash)).await?,
    };
    let is_claimed = idempotency_key.is_some_and(|named| {
        ctx.memory.claimed_keys.contains(&claim::hash(&ctx.vault, kept.key.kind, named))
    });
    if is_claimed {
        return authenticate(ctx, key, idempotency_key).await;
    }
    let assumed = AssumedVersion::new(kept.version);
    let mut opened = authenticated(ctx, kept)?;
    opened.account.assumed = Some(Arc::new(assumed));
    count_use(ctx, &opened, key, hash);
    Ok(opened)
}

/// Returns the account as it is now if it or its key has changed since the request has read it, unless the request has committed
/// something.
///
/// Refusals: unauthorized.
pub async fn find_changed(ctx: &Context, account: &Account) -> Result<Option<Account>, Error> {
    let Some(seen) = account.assumed.as_ref().and_then(|assumed| assumed.unconfirmed()) else {
        return Ok(None);
    };
    let now = read(ctx, seen.key_hash).await?;
    if now.version == seen {
        return Ok(None);
    }
    Ok(Some(authenticated(ctx, now)?.account))
}

/// Reads a key with its account, and keeps both unless their requests would be refused, or each payment changes the row.
async fn read(ctx: &Context, key_hash: [u8; 32]) -> Result<KeptAccount, Error> {
    static KEY_AND_ACCOUNT: CachedStatement = CachedStatement::new();
    static BY_ACCOUNT: CachedStatement = CachedStatement::new();
    // A distributed database finds the node by the account.
    let owner = if ctx.store.is_distributed() { Some(find_key(ctx, key_hash).await?.account) } else { None };
    let word = || {
        let of_owner = owner.map(|owner| account::Column::Id.eq(owner));
        account::Entity::find()
            .reverse_join(api_key::Entity)
            .filter(api_key::Column::Hash.eq(key_hash.to_vec()))
            .filter(Condition::all().add_option(of_owner))
            .column(api_key::Column::Hash)
            .column(api_key::Column::Kind)
            .column(api_key::Column::ValidUntil)
            .column(api_key::Column::Restriction)
            .column_as(AccountVersion::column("api_keys"), "key_version")
            .column_as(AccountVersion::column("accounts"), "account_version")
            .into_query()
    };
    let changes = ctx.memory.key_changes.load(Ordering::Acquire);
    let statement = if owner.is_some() { &BY_ACCOUNT } else { &KEY_AND_ACCOUNT };
    let values = std::iter::once(key_hash.to_vec().into()).chain(owner.map(Into::into)).collect();
    let found = statement.one(ctx.store.read(), values, word).await?;
    // The index found the row by parts of the hash; the whole hash is compared in constant time.
    let found = found.filter(|found: &KeyAndAccount| found.hash.ct_eq(&key_hash).into());
    let Some(KeyAndAccount { account, kind, valid_until, restriction, key, account_version, .. }) = found
    else {
        ctx.memory.accounts.invalidate(&key_hash).await;
        ctx.memory.keys.invalidate(&key_hash).await;
        return Err(ErrorCode::Unauthorized.into());
    };
    let kept = KeptAccount {
        key: KeyEntry::new(key_hash, account.id, kind, valid_until, restriction.as_ref())?,
        version: AccountVersion { key_hash, owner: account.id, key, account: account_version },
        row: Arc::new(account),
    };
    ctx.memory.keys.insert(key_hash, kept.key.clone()).await;
    let works = kept.row.closed_at.is_none() && access(ctx.environment, kept.row.status) == Access::Full;
    if works && kept.row.acquirer_faults.is_none() {
        ctx.memory.accounts.insert(key_hash, kept.clone()).await;
    } else {
        ctx.memory.accounts.invalidate(&key_hash).await;
    }
    // A key that was changed after it was read, and forgotten before it was inserted.
    if ctx.memory.key_changes.load(Ordering::Acquire) != changes {
        ctx.memory.keys.invalidate(&key_hash).await;
        ctx.memory.accounts.invalidate(&key_hash).await;
    }
    Ok(kept)
}

/// A row of a key with its account.
struct KeyAndAccount {
    account: account::Model,
    hash: Vec<u8>,
    kind: KeyKind,
    valid_until: Option<Timestamp>,
    restriction: Option<JsonText>,
    key: i64,
    account_version: i64,
}

impl FromColumns for KeyAndAccount {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        let AccountRow(account) = AccountRow::read(row)?;
        Ok(Self {
            account,
            hash: row.next("hash")?,
            kind: row.next("kind")?,
            valid_until: row.next("valid_until")?,
            restriction: row.next("restriction")?,
            key: row.next("key_version")?,
            account_version: row.next("account_version")?,
        })
    }
}

fn authenticated(ctx: &Context, kept: KeptAccount) -> Result<AuthenticatedAccount, Error> {
    if kept.key.has_ended(ctx.clock.now()) {
        return Err(ErrorCode::Unauthorized.into());
    }
    authenticated_account(ctx, kept.key, Some(kept.row), None)
}
