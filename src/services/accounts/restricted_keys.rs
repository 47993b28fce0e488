//! Restricted API keys: a name, rights by section, networks and an end (`docs/decisions.md`, 382).
//!
//! A key never changes, so a process may cache it: a rolled key is another key with the same restriction. All times are by the wall
//! clock.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering;

use base::mutants::{self, Mutant};
use base::random::RandomStream;
use base::secret::Secret;
use entity::api_key::{self, COLUMN, Column, KeyKind, KeyRestriction};
use entity::audit_entry::Action;
use entity::{AccountToken, ApiKeyToken, Bytes, JsonText, Owned, TimeSpan, Timestamp, account, key_use};
use ipnet::IpNet;
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QuerySelect, Select,
};
use serde_json::{Value, json};
use store::Tx;

use super::{key_hash, key_row};
use crate::error::{Error, ErrorCode};
use crate::limits::RESTRICTED_KEYS_MAX;
use crate::params::{FieldErrors, Paging, Params};
use crate::services::accounts::key_params::{ApiKeyOrder, NewApiKey};
use crate::services::accounts::key_view::ApiKey;
use crate::services::audit::{self, OperatorAction};
use crate::services::context::{Account, Caller, Context};
use crate::services::idempotency;
use crate::services::memory::known_keys::KeyEntry;
use crate::services::page::{List, ListPage};

/// The number of characters of a key that lists show.
const SHOWN: usize = 4;

/// Returns the error message for an account at its limit of restricted keys.
pub fn full() -> String {
    format!("An account may have {RESTRICTED_KEYS_MAX} restricted keys. Revoke one before you make another.")
}

/// Returns whether a key works from an address: a restricted key only from its networks, if it names some. A command has no address
/// and no key.
pub(super) fn works_from(key: &KeyEntry, address: Option<IpAddr>) -> bool {
    let Some(restriction) = &key.restriction else { return true };
    let contains = |address: IpAddr| networks(restriction).any(|network| network.contains(&address));
    restriction.networks.is_empty() || address.is_some_and(contains)
}

fn networks(restriction: &KeyRestriction) -> impl Iterator<Item = IpNet> {
    restriction.networks.iter().filter_map(|network| network.parse().ok())
}

/// Makes a key and shows it, this once.
///
/// Refusals, first match wins: `invalid_resource`, `forbidden`, `limit_reached`.
pub async fn create(ctx: &Context, caller: &Caller, params: Params<NewApiKey>) -> Result<ApiKey, Error> {
    let wall = ctx.clock.now();
    let ApiKeyOrder { name, rights, networks, expires_at } = params.parse(wall)?;
    let networks = networks.iter().map(IpNet::to_string).collect();
    let restriction = KeyRestriction { name, last_characters: String::new(), rights, networks };
    may_give(&caller.account, &restriction, expires_at)?;
    let minted = MintedKey::new(ctx, &caller.account, restriction, expires_at)?;
    // Of two persons, the one who approves.
    let person = caller.account.person.as_ref().map(|person| person.acting(wall));
    let unit = idempotency::write(ctx, caller, (minted, person, wall), async |tx, (minted, person, wall)| {
        minted.require_giver(tx, *wall).await?;
        minted.insert(tx, *wall).await?;
        let ApiKey { token, name, rights, networks, expires_at, .. } = &minted.shown;
        let detail =
            json!({ "name": name, "rights": rights, "networks": networks, "expires_at": expires_at });
        let act = OperatorAction::about(Action::KeyCreated, minted.row.account_id, token.to_string(), detail);
        audit::record_as(tx, person.as_ref(), &act)?;
        Ok(minted.shown.clone())
    });
    unit.await
}

/// Lists the keys that work, newest first, with their last uses: those that the audit trail still has, and this process's own of today.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<ApiKey>, Error> {
    let wall = ctx.clock.now();
    let keys = List::newest_first(account.id(), working(account.id(), wall));
    let ListPage { records, count, paging } = keys.ranged(ctx, paging).await?;
    let hashes = records.iter().map(|row: &api_key::Model| row.hash.clone());
    let uses = key_use::Entity::owned_by(account.id())
        .filter(key_use::Column::Hash.is_in(hashes))
        .select_only()
        .column(key_use::Column::Hash)
        .column_as(key_use::Column::LastAt.max(), "last_at")
        .group_by(key_use::Column::Hash);
    let uses: Vec<(Bytes, Timestamp)> = uses.into_tuple().all(ctx.store.read()).await?;
    let last_uses: HashMap<_, _> = uses.into_iter().collect();
    let shown = |row: &api_key::Model| {
        let hash = <[u8; 32]>::try_from(row.hash.as_slice()).ok();
        let recent = hash.and_then(|hash| ctx.memory.key_uses.last_use(hash, wall.day()));
        let last_used_at = last_uses.get(&row.hash).copied().max(recent);
        Ok(ApiKey { last_used_at, ..shown(row)? })
    };
    Ok(ListPage { records: records.iter().map(shown).collect::<Result<_, Error>>()?, count, paging })
}

/// Replaces a key by another with the same restriction and end, and shows that, this once. The former key works for `grace`, or
/// until its end, whichever comes first.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`, `forbidden`, `limit_reached`.
pub async fn roll(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    grace: Result<TimeSpan, FieldErrors>,
) -> Result<ApiKey, Error> {
    let former = find(ctx.store.read(), caller.account.id(), token, ctx.clock.now()).await?;
    let grace = grace?;
    let (restriction, hash) = (restriction_of(&former)?, former.hash.clone());
    may_give(&caller.account, &restriction, former.valid_until)?;
    let minted = MintedKey::new(ctx, &caller.account, restriction, former.valid_until)?;
    let ends = ctx.end_after(grace);
    let until = former.valid_until.map_or(ends, |end| end.min(ends));
    // Read after the end: a key that ends now leaves its place.
    let rolling = (former, minted, until, ctx.clock.now());
    let unit = idempotency::write(ctx, caller, rolling, async |tx, (former, minted, until, wall)| {
        tx.lock::<account::Entity>(former.account_id).await?;
        // Before the key ends, which may be the giver.
        minted.require_giver(tx, *wall).await?;
        let ended = api_key::Model { valid_until: Some(*until), ..former.clone() };
        // It may have been revoked or rolled meanwhile.
        if !tx.compare_and_swap(former, &ended, &[Column::ValidUntil]).await? {
            return Err(ErrorCode::NotFound.into());
        }
        minted.insert(tx, *wall).await?;
        let detail = json!({ "new_key": minted.shown.token, "former_key_ends": until });
        record(tx, Action::KeyRolled, former.account_id, token_of(former)?, detail)?;
        Ok(minted.shown.clone())
    });
    let rolled = unit.await?;
    forget(ctx, hash).await;
    Ok(rolled)
}

/// Revokes a key. Other copies of the server may cache it for a few seconds longer.
///
/// Refusals: `not_found`.
pub async fn revoke(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    let key = find(ctx.store.read(), caller.account.id(), token, ctx.clock.now()).await?;
    let hash = key.hash.clone();
    let unit = idempotency::write(ctx, caller, key, async |tx, key| {
        if api_key::Entity::delete_by_id(key.hash.clone()).exec(tx).await?.rows_affected == 0 {
            return Err(ErrorCode::NotFound.into());
        }
        record(tx, Action::KeyRevoked, key.account_id, token_of(key)?, json!({}))
    });
    unit.await?;
    forget(ctx, hash).await;
    Ok(())
}

/// A key that is not stored yet.
struct MintedKey {
    row: api_key::Model,
    shown: ApiKey,
    /// The hash of the restricted key that gives it.
    giver: Option<[u8; 32]>,
}

impl MintedKey {
    fn new(
        ctx: &Context,
        account: &Account,
        mut restriction: KeyRestriction,
        expires_at: Option<Timestamp>,
    ) -> Result<Self, Error> {
        let giver = account.key.as_ref().filter(|key| key.restriction.is_some()).map(|key| key.hash);
        let text = format!("rk_{}", ctx.random.token22(RandomStream::RestrictedKey));
        text[text.len() - SHOWN..].clone_into(&mut restriction.last_characters);
        let secret = Secret::from(text.as_str());
        let row = api_key::Model {
            hash: key_hash(&ctx.vault, &secret).to_vec(),
            valid_until: expires_at,
            id: Some(ctx.ids.token()),
            restriction: Some(JsonText::encode(&restriction)?),
            // Nothing shows the key again.
            ..key_row(&ctx.vault, account.id(), KeyKind::Restricted, &Secret::default(), ctx.clock.now())
        };
        Ok(Self { shown: ApiKey { secret_key: Some(text), ..shown(&row)? }, row, giver })
    }

    /// Stores the key, unless the account has too many.
    async fn insert(&self, tx: &Tx, wall: Timestamp) -> Result<(), Error> {
        // The lock serialises the count: two concurrent units would both find capacity.
        tx.lock::<account::Entity>(self.row.account_id).await?;
        if working(self.row.account_id, wall).count(tx).await? >= RESTRICTED_KEYS_MAX {
            return Err(Error::explained(ErrorCode::LimitReached, full()));
        }
        // Insert immediately: another unit of the same batch may count.
        Ok(tx.insert(&self.row).await?)
    }

    /// Refuses if the key that gives this one was revoked, or ends before it: the process may have cached it as it was.
    async fn require_giver(&self, tx: &Tx, wall: Timestamp) -> Result<(), Error> {
        let Some(hash) = self.giver else { return Ok(()) };
        let giver = working(self.row.account_id, wall).filter(Column::Hash.eq(hash.to_vec())).one(tx).await?;
        match giver.ok_or(ErrorCode::Unauthorized)?.valid_until {
            Some(end) if self.row.valid_until.is_none_or(|own| own > end) => Err(later_end()),
            _ => Ok(()),
        }
    }
}

fn later_end() -> Error {
    Error::explained(ErrorCode::Forbidden, "This key may not give a later end than its own.")
}

/// Refuses a key that may do more than the key of the request, from other networks or for longer.
fn may_give(account: &Account, given: &KeyRestriction, ends: Option<Timestamp>) -> Result<(), Error> {
    let refused = |sentence: String| Err(Error::explained(ErrorCode::Forbidden, sentence));
    let Some(own) = account.restriction() else { return Ok(()) };
    if let Some((section, right)) =
        given.rights.iter().find(|(section, right)| own.right(**section) < **right)
    {
        let right = format!("{}: {}", section.code(), right.code());
        return refused(format!("This key may not give `{right}`, which it does not have."));
    }
    let contained = |network: &IpNet| networks(own).any(|own| own.contains(network));
    if !own.networks.is_empty()
        && (given.networks.is_empty() || !networks(given).all(|network| contained(&network)))
    {
        return refused("This key may not give other networks than its own.".into());
    }
    let own_end = account.key.as_ref().and_then(|key| key.valid_until);
    if own_end.is_some_and(|own_end| ends.is_none_or(|end| end > own_end)) {
        return Err(later_end());
    }
    Ok(())
}

fn working(account: AccountToken, wall: Timestamp) -> Select<api_key::Entity> {
    let endless = Column::ValidUntil.is_null();
    api_key::Entity::owned_by(account)
        .filter(Column::Kind.eq(KeyKind::Restricted))
        .filter(Condition::any().add(endless).add(COLUMN.valid_until.gt(wall)))
}

async fn find(
    db: &impl ConnectionTrait,
    account: AccountToken,
    token: &str,
    wall: Timestamp,
) -> Result<api_key::Model, Error> {
    let id: ApiKeyToken = token.parse().map_err(|_| ErrorCode::NotFound)?;
    let key = working(account, wall).filter(Column::Id.eq(id)).one(db).await?;
    key.ok_or_else(|| ErrorCode::NotFound.into())
}

/// Removes a changed key from the caches of this process.
async fn forget(ctx: &Context, hash: Bytes) {
    if let Ok(hash) = <[u8; 32]>::try_from(hash)
        && !mutants::is(Mutant::ChangedKeyCached)
    {
        ctx.memory.key_changes.fetch_add(1, Ordering::AcqRel);
        ctx.memory.keys.invalidate(&hash).await;
        ctx.memory.accounts.invalidate(&hash).await;
    }
}

fn record(
    tx: &Tx,
    action: Action,
    account: AccountToken,
    key: ApiKeyToken,
    detail: Value,
) -> Result<(), Error> {
    audit::record(tx, &OperatorAction::about(action, account, key.to_string(), detail))
}

fn token_of(row: &api_key::Model) -> Result<ApiKeyToken, Error> {
    row.id.ok_or_else(|| Error::internal("a restricted key without a token"))
}

fn restriction_of(row: &api_key::Model) -> Result<KeyRestriction, Error> {
    let json = row.restriction.as_ref().ok_or_else(|| Error::internal("a restricted key without rights"))?;
    Ok(serde_json::from_str(json.as_str())?)
}

fn shown(row: &api_key::Model) -> Result<ApiKey, Error> {
    Ok(ApiKey::new(token_of(row)?, restriction_of(row)?, (row.created_at, row.valid_until)))
}
