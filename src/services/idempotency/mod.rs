//! One effect for each Idempotency-Key (`docs/decisions.md`, 66). A request claims its key in the transaction of its
//! first change and stores its response in the transaction of its last; both rows are only inserted, but for the date of
//! a key whose outcome a worker learns later. The primary key decides between concurrent requests; one that loses, or is
//! refused because another was faster, then reads the other's response.

pub mod claim;

use std::sync::Arc;

use base::mutants::{self, Mutant};
use entity::{AccountToken, Owned, Timestamp, account, idempotency_answer, idempotency_key};
use sea_orm::sea_query::{Expr, ExprTrait, LockType, OnConflict, Query, SelectStatement, SimpleExpr};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, DbErr, DeleteMany, EntityTrait, IntoActiveModel, Iterable,
    QueryFilter, QueryOrder, QuerySelect, RelationTrait, Select,
};
use serde::Serialize;
use store::{ColumnReader, FromColumns, Tx, Unit};
use vault::Vault;

use self::claim::IdempotencyClaim;
use super::context::{Account, Caller, Context, WriteCondition};
use super::data_keys::reencrypt::SealedTable;
use super::data_keys::unseal;
use crate::error::{Error, ErrorCode};
use crate::limits::{IDEMPOTENCY_RETENTION, SEALED_BATCH};
use crate::response::{ApiResponse, ResponseKind};

/// A claimed key, and its response if it has one.
#[derive(Debug)]
pub struct StoredClaim {
    key: idempotency_key::Model,
    answer: Option<idempotency_answer::Model>,
}

impl StoredClaim {
    /// Joins the key with this hash and its response to the account of `statement`. Their columns follow the account's; a column
    /// of the name `present` says whether the key exists.
    pub fn join(hash: Vec<u8>, present: &'static str, statement: &mut SelectStatement) {
        use {idempotency_answer::Column as Answer, idempotency_key::Column as Key};

        let key = |column| Expr::col((idempotency_key::Entity, column));
        let named =
            key(Key::AccountId).equals((account::Entity, account::Column::Id)).and(key(Key::Hash).eq(hash));
        statement
            .left_join(idempotency_key::Entity, named)
            .left_join(idempotency_answer::Entity, idempotency_key::Relation::IdempotencyAnswer.def())
            .expr_as(key(Key::Hash).is_not_null(), present)
            .columns(Key::iter().map(|column| (idempotency_key::Entity, column)))
            .columns(
                [Answer::Status, Answer::Sealed, Answer::SealedBy]
                    .map(|column| (idempotency_answer::Entity, column)),
            );
    }

    /// Returns whether the key has a response, which never changes.
    pub fn is_answered(&self) -> bool {
        self.answer.is_some()
    }
}

impl FromColumns for StoredClaim {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        let key = idempotency_key::Model {
            account_id: row.next("account_id")?,
            hash: row.next("hash")?,
            fingerprint: row.next("fingerprint")?,
            created_at: row.next("created_at")?,
        };
        let answer = (row.next("status")?, row.next("sealed")?, row.next("sealed_by")?);
        let answer = match answer {
            (Some(status), Some(sealed), Some(sealed_by)) => {
                let hash = key.hash.clone();
                Some(idempotency_answer::Model {
                    account_id: key.account_id,
                    hash,
                    status,
                    sealed,
                    sealed_by,
                })
            }
            _ => None,
        };
        Ok(Self { key, answer })
    }
}

/// Returns the response stored by another request with the same key, for replay, or `None`.
///
/// Refusals: `idempotency_key_reused`, `idempotency_key_in_use`.
pub async fn find_response(
    ctx: &Context,
    account: AccountToken,
    claim: &IdempotencyClaim,
) -> Result<Option<ApiResponse>, Error> {
    // One statement: between two reads a key may be released, then claimed and answered by another request.
    let found = idempotency_key::Entity::owned_by(account)
        .filter(idempotency_key::Column::Hash.eq(claim.hash().as_slice()))
        .find_also_related(idempotency_answer::Entity)
        .one(ctx.store.read())
        .await?;
    let Some((key, answer)) = found else { return Ok(None) };
    response_of(ctx, claim, StoredClaim { key, answer }).await
}

/// Returns the response of a claimed key, or `None` if the key is free again.
///
/// Refusals: `idempotency_key_reused`, `idempotency_key_in_use`.
pub async fn response_of(
    ctx: &Context,
    claim: &IdempotencyClaim,
    StoredClaim { key, answer }: StoredClaim,
) -> Result<Option<ApiResponse>, Error> {
    if answer.is_some() && key.created_at <= long_ago(ctx) {
        forget(ctx, key).await?;
        return Ok(None);
    }
    if !claim.is_of(&key) && !mutants::is(Mutant::KeyOfAnotherRequest) {
        return Err(ErrorCode::IdempotencyKeyReused.into());
    }
    let answer = answer.ok_or(ErrorCode::IdempotencyKeyInUse)?;
    let body =
        unseal(ctx, &context(key.account_id, claim.hash()), answer.sealed_by, &answer.sealed).await?.to_vec();
    let status = u16::try_from(answer.status).map_err(|_| Error::internal("a kept status is none"))?;
    Ok(Some(ApiResponse { status, body }))
}

/// Runs a request's only transaction; if the request has a key, the claim and the response are part of it.
///
/// Refusals: the unit's, `idempotency_key_in_use`.
pub async fn write<D, T, F>(ctx: &Context, caller: &Caller, data: D, unit: F) -> Result<T, Error>
where
    D: Send + Sync + 'static,
    T: Serialize + Send + 'static,
    F: Unit<D, T, Error>,
{
    written(ctx, caller, data, unit, false).await
}

/// Runs a transaction that replaces the account's rows, Idempotency-Keys among them: it runs alone, and its own key
/// stays.
///
/// Refusals: the unit's, `idempotency_key_in_use`.
pub async fn write_exclusively<D, T, F>(ctx: &Context, caller: &Caller, data: D, unit: F) -> Result<T, Error>
where
    D: Send + Sync + 'static,
    T: Serialize + Send + 'static,
    F: Unit<D, T, Error>,
{
    written(ctx, caller, data, unit, true).await
}

async fn written<D, T, F>(
    ctx: &Context,
    caller: &Caller,
    data: D,
    unit: F,
    exclusive: bool,
) -> Result<T, Error>
where
    D: Send + Sync + 'static,
    T: Serialize + Send + 'static,
    F: Unit<D, T, Error>,
{
    let claimed = caller.claim.as_ref().map(|claim| ClaimedWrite {
        account: caller.account.id(),
        claim: Arc::clone(claim),
        at: ctx.trusted.latest(),
        vault: Arc::clone(&ctx.vault),
    });
    let claimed = ClaimingWrite {
        data,
        unit,
        account: caller.account.clone(),
        claimed,
        condition: caller.condition.clone(),
        exclusive,
    };
    let record = ctx.store.write(claimed, async |tx, write| {
        let ClaimingWrite { data, unit, account, claimed, condition, exclusive } = write;
        if *exclusive {
            tx.require_exclusive().await?;
        }
        account.require_current(tx).await?;
        if let Some(condition) = condition {
            condition.require(tx).await?;
        }
        let Some(write) = claimed else { return unit.run(tx, data).await };
        write.claim(tx, *exclusive).await?;
        let record = unit.run(tx, data).await?;
        if *exclusive {
            clear(tx, write.account, write.claim.hash()).await?;
        }
        let answer = write.claim.response(&record)?;
        store_response(tx, &write.vault, write.account, write.claim.hash(), &answer)?;
        Ok(record)
    });
    let record = record.await?;
    caller.confirm();
    Ok(record)
}

/// A unit of work for a request, with what its commit requires and records besides.
struct ClaimingWrite<D, F> {
    data: D,
    unit: F,
    account: Account,
    claimed: Option<ClaimedWrite>,
    condition: Option<Arc<dyn WriteCondition>>,
    exclusive: bool,
}

/// The claim of a request with only one transaction.
struct ClaimedWrite {
    account: AccountToken,
    claim: Arc<IdempotencyClaim>,
    at: Timestamp,
    vault: Arc<Vault>,
}

impl ClaimedWrite {
    /// Claims the key first or last. Claimed last, it survives the deletion of the account's keys. Claimed first, it waits on
    /// PostgreSQL for a unit that has claimed it already: this unit would otherwise do all its work, conflict and be undone.
    async fn claim(&self, tx: &Tx, last: bool) -> Result<(), Error> {
        if last || tx.get_database_backend() != DbBackend::Postgres {
            return self.claim.record(tx, self.account, self.at);
        }
        let claim =
            idempotency_key::Entity::insert(self.claim.row(self.account, self.at).into_active_model());
        let claim = claim.on_conflict(OnConflict::new().do_nothing().to_owned());
        match claim.exec_without_returning(tx).await? {
            0 => Err(ErrorCode::IdempotencyKeyInUse.into()),
            _ => Ok(()),
        }
    }
}

/// The result of a request that repeated requests are answered with, learnt by a request or by a worker.
pub enum KeptResult<'r, R> {
    /// A new record.
    Created(&'r R),
    Changed(&'r R),
    /// A refusal that was recorded.
    Refused(Error),
}

impl<R: Serialize> KeptResult<'_, R> {
    /// Returns the response to store.
    pub fn response(&self) -> Result<ApiResponse, Error> {
        Ok(match self {
            Self::Created(record) => ResponseKind::Created.finish(record)?,
            Self::Changed(record) => ResponseKind::Shown.finish(record)?,
            Self::Refused(error) => ApiResponse::refusal(error, "")?,
        })
    }
}

/// Stores the response of a claimed key.
///
/// Refusals: `idempotency_key_in_use`: in a unit that claims the key as well, PostgreSQL may find another request's response
/// before its claim.
pub fn store_response(
    tx: &Tx,
    vault: &Vault,
    account: AccountToken,
    hash: &[u8],
    answer: &ApiResponse,
) -> Result<(), Error> {
    let sealed = vault.seal(&context(account, hash), &answer.body);
    let row = idempotency_answer::Model {
        account_id: account,
        hash: hash.to_vec(),
        status: answer.status.into(),
        sealed: sealed.bytes,
        sealed_by: sealed.key,
    };
    Ok(tx.append_unique(&row, ErrorCode::IdempotencyKeyInUse)?)
}

/// Refuses a key that another request has claimed since this one was let in: for a unit that would delete or ignore that claim. It holds
/// the account's lock, and sees what was written before.
///
/// Refusals: `idempotency_key_in_use`.
pub async fn require_free(
    tx: &Tx,
    account: AccountToken,
    claim: Option<&IdempotencyClaim>,
) -> Result<(), Error> {
    match claim {
        Some(claim) if find_claimed(tx, account, claim).await?.is_some() => {
            Err(ErrorCode::IdempotencyKeyInUse.into())
        }
        _ => Ok(()),
    }
}

/// Returns whether a request still owns its key, and keeps it until the commit: a restored snapshot has other keys.
pub async fn is_still_claimed(
    tx: &Tx,
    account: AccountToken,
    claim: &IdempotencyClaim,
) -> Result<bool, Error> {
    Ok(find_claimed(tx, account, claim).await?.is_some_and(|key| claim.is_of(&key)))
}

async fn find_claimed(
    tx: &Tx,
    account: AccountToken,
    claim: &IdempotencyClaim,
) -> Result<Option<idempotency_key::Model>, Error> {
    let key = idempotency_key::Entity::owned_by(account)
        .filter(idempotency_key::Column::Hash.eq(claim.hash().as_slice()))
        .lock(LockType::Share);
    Ok(key.one(tx).await?)
}

/// Releases the key of a request that changed nothing.
pub async fn release_key(tx: &Tx, account: AccountToken, hash: &[u8]) -> Result<(), Error> {
    Ok(tx.defer_update(delete_key(account, hash)).await?)
}

/// Dates a key as if it were claimed then.
pub async fn date_key(tx: &Tx, account: AccountToken, hash: &[u8], at: Timestamp) -> Result<(), Error> {
    let key = idempotency_key::Entity::update_of(account)
        .filter(idempotency_key::Column::Hash.eq(hash))
        .col_expr(idempotency_key::Column::CreatedAt, Expr::value(at.millis()));
    Ok(tx.defer_update(key).await?)
}

/// Returns the instant up to which claimed keys are past their retention. They are dated by the latest time that may have been
/// then.
pub fn long_ago(ctx: &Context) -> Timestamp {
    ctx.trusted.long_ago(IDEMPOTENCY_RETENTION)
}

/// Selects the keys that were claimed by then. A key without a response is in flight, however old.
pub fn due(long_ago: Timestamp) -> Select<idempotency_key::Entity> {
    let old = idempotency_key::COLUMN.created_at.lte(long_ago);
    idempotency_key::Entity::find().filter(old).filter(Expr::exists(
        Query::select()
            .expr(Expr::value(1))
            .from(idempotency_answer::Entity)
            .and_where(of_key(idempotency_answer::Column::AccountId, idempotency_key::Column::AccountId))
            .and_where(of_key(idempotency_answer::Column::Hash, idempotency_key::Column::Hash))
            .take(),
    ))
}

fn of_key(answer: idempotency_answer::Column, key: idempotency_key::Column) -> SimpleExpr {
    Expr::col((idempotency_answer::Entity, answer)).equals((idempotency_key::Entity, key))
}

/// Deletes a key past its retention. A newer one with the same hash stays.
pub async fn forget(ctx: &Context, key: idempotency_key::Model) -> Result<(), Error> {
    let unit = ctx.store.write(key, async |tx, key| {
        let same = idempotency_key::Column::CreatedAt.eq(key.created_at);
        if delete_key(key.account_id, &key.hash).filter(same).exec(tx).await?.rows_affected > 0 {
            delete_answer(key.account_id, &key.hash).exec(tx).await?;
        }
        Ok(())
    });
    unit.await
}

/// Deletes the former claim and response of a key that this commit claims.
async fn clear(tx: &Tx, account: AccountToken, hash: &[u8]) -> Result<(), Error> {
    delete_key(account, hash).exec(tx).await?;
    delete_answer(account, hash).exec(tx).await?;
    Ok(())
}

fn delete_answer(account: AccountToken, hash: &[u8]) -> DeleteMany<idempotency_answer::Entity> {
    idempotency_answer::Entity::delete_of(account).filter(idempotency_answer::Column::Hash.eq(hash))
}

fn delete_key(account: AccountToken, hash: &[u8]) -> DeleteMany<idempotency_key::Entity> {
    idempotency_key::Entity::delete_of(account).filter(idempotency_key::Column::Hash.eq(hash))
}

/// Rewrites the kept responses of an account: `rewrite` returns the new body of those that it changes. A response that is stored
/// or sealed again meanwhile may be missed.
pub(in crate::services) async fn rewrite_responses(
    ctx: &Context,
    account: AccountToken,
    rewrite: &(dyn Fn(&str) -> Option<String> + Sync),
) -> Result<(), Error> {
    use idempotency_answer::Column;

    let mut after = Vec::new();
    loop {
        let rows = idempotency_answer::Entity::owned_by(account)
            .filter(Column::Hash.gt(after))
            .order_by_asc(Column::Hash)
            .limit(SEALED_BATCH);
        let rows = rows.all(ctx.store.read()).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.hash.clone();
        let mut changes = Vec::new();
        for row in rows {
            let context = context(account, &row.hash);
            // A damaged response is read by nobody.
            let Ok(body) = unseal(ctx, &context, row.sealed_by, &row.sealed).await else { continue };
            if let Some(body) = str::from_utf8(&body).ok().and_then(rewrite) {
                let sealed = ctx.vault.seal(&context, body.as_bytes());
                let rewritten =
                    idempotency_answer::Model { sealed: sealed.bytes, sealed_by: sealed.key, ..row.clone() };
                changes.push((row, rewritten));
            }
        }
        if changes.is_empty() {
            continue;
        }
        let unit = ctx.store.write(changes, async |tx, changes| {
            for (row, rewritten) in changes {
                tx.compare_and_swap(row, rewritten, &[Column::Sealed]).await?;
            }
            Ok(())
        });
        unit.await?;
    }
}

/// Returns the associated data that binds a sealed response to its key.
fn context(account: AccountToken, hash: &[u8]) -> Vec<u8> {
    [b"answer", account.id().as_bytes().as_slice(), hash].concat()
}

impl SealedTable for idempotency_answer::Entity {
    const SEALED_BY: idempotency_answer::Column = idempotency_answer::Column::SealedBy;
    const SEALED: &'static [idempotency_answer::Column] = &[idempotency_answer::Column::Sealed];

    fn context(row: &idempotency_answer::Model, _: idempotency_answer::Column) -> Vec<u8> {
        context(row.account_id, &row.hash)
    }
}
