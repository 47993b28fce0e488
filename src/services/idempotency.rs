//! One effect for each Idempotency-Key (decisions 2). A request claims its key in the transaction that first
//! changes something, and its answer is stored in the one that finishes it; both are rows that are only added.
//! The primary key decides between rivals, so a fresh key costs no look inside of a transaction: who loses, or is
//! refused because a rival was faster, looks afterwards.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use entity::api_key::KeyKind;
use entity::{AccountToken, Owned, Timestamp, account, idempotency_answer, idempotency_key};
use futures::FutureExt;
use futures::future::BoxFuture;
use sea_orm::sea_query::IntoCondition;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SimpleExpr};
use sea_orm::{
    ColumnTrait, DeleteMany, EntityTrait, JoinType, QueryFilter, QuerySelect, RelationDef, Select,
};
use serde::Serialize;
use serde_json::Value;

use super::context::{Account, Context};
use crate::answer::{Answer, Wrap};
use crate::error::{Error, ErrorCode};
use crate::limits::IDEMPOTENCY_KEPT;
use crate::store::Tx;
use crate::vault::{Purpose, Vault};

/// A request under its key.
#[derive(Debug, Clone)]
pub struct Claim {
    /// What the key is stored as.
    hash: [u8; 32],
    /// What the request is stored as.
    fingerprint: [u8; 32],
    /// How its answer is wrapped.
    wrap: Wrap,
    /// Whether the request has the key.
    held: Arc<AtomicBool>,
}

/// A request, as far as another one with its key must equal it.
pub struct Asked<'a> {
    /// The kind of API key: part of the key's scope.
    pub kind: KeyKind,
    /// The Idempotency-Key.
    pub key: &'a str,
    /// HTTP method.
    pub method: &'a str,
    /// The path as the router knows it.
    pub path: &'a str,
    /// Query and body.
    pub parameters: &'a Value,
}

impl Claim {
    /// The claim of a request.
    pub fn new(vault: &Vault, asked: &Asked<'_>) -> Self {
        let parameters = canonical(asked.parameters);
        let request = ["request", asked.method, asked.path, &parameters].map(str::as_bytes);
        Self {
            hash: hash(vault, asked.kind, asked.key),
            fingerprint: vault.keyed_hash(Purpose::Fingerprint, &request),
            wrap: Wrap::Shown,
            held: Arc::default(),
        }
    }

    /// The same claim, with an answer that is wrapped like this.
    #[must_use]
    pub fn answers(self, wrap: Wrap) -> Self {
        Self { wrap, ..self }
    }

    /// What the key is stored as.
    pub fn hash(&self) -> &[u8] {
        &self.hash
    }

    /// Claim the key in a payment's intent, before anything else is done: rivals are decided between at its commit.
    ///
    /// Refusals: `idempotency_key_in_use`.
    pub fn record(&self, tx: &Tx, account: AccountToken, wall: Timestamp) -> Result<(), Error> {
        tx.claim(&self.row(account, wall))
    }

    fn row(&self, account: AccountToken, wall: Timestamp) -> idempotency_key::Model {
        idempotency_key::Model {
            account_id: account,
            hash: self.hash.to_vec(),
            fingerprint: self.fingerprint.to_vec(),
            created_at: wall,
        }
    }

    /// That transaction has committed: from now on no refusal is a rival's doing.
    pub fn hold(&self) {
        self.held.store(true, Ordering::Release);
    }

    /// Whether the request has the key.
    pub fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }
}

/// What a key is stored as.
pub fn hash(vault: &Vault, kind: KeyKind, key: &str) -> [u8; 32] {
    vault.keyed_hash(Purpose::Fingerprint, &["idempotency key", kind.code(), key].map(str::as_bytes))
}

/// For a join: the key of this hash beside its account.
pub fn of_account(hash: Vec<u8>) -> RelationDef {
    account::Entity::belongs_to(idempotency_key::Entity)
        .from(account::Column::Id)
        .to(idempotency_key::Column::AccountId)
        .on_condition(move |_, key| {
            Expr::col((key, idempotency_key::Column::Hash)).eq(hash.clone()).into_condition()
        })
        .into()
}

/// What a rival has made of a request's key: the answer to give once more, or nothing.
///
/// Refusals: `idempotency_key_reused`, `idempotency_key_in_use`.
pub async fn look(ctx: &Context, account: AccountToken, claim: &Claim) -> Result<Option<Answer>, Error> {
    // Both at once: a key may be freed, and claimed and answered by another request, between two looks.
    let found = idempotency_key::Entity::owned_by(account)
        .filter(idempotency_key::Column::Hash.eq(claim.hash()))
        .select_also(idempotency_answer::Entity)
        .join(JoinType::LeftJoin, its_answer())
        .one(ctx.store.read())
        .await?;
    let Some((key, answer)) = found else { return Ok(None) };
    if answer.is_some() && key.created_at + IDEMPOTENCY_KEPT <= ctx.clock.now() {
        forget(ctx, key).await?;
        return Ok(None);
    }
    if key.fingerprint != claim.fingerprint {
        return Err(ErrorCode::IdempotencyKeyReused.into());
    }
    let answer = answer.ok_or(ErrorCode::IdempotencyKeyInUse)?;
    let body = ctx.vault.open(&context(account, claim.hash()), answer.sealed_by, &answer.sealed)?.to_vec();
    let status = u16::try_from(answer.status).map_err(|_| Error::internal("a kept status is none"))?;
    Ok(Some(Answer { status, body }))
}

fn its_answer() -> RelationDef {
    use idempotency_answer::Column as Answer;
    use idempotency_key::Column as Key;

    idempotency_key::Entity::belongs_to(idempotency_answer::Entity)
        .from((Key::AccountId, Key::Hash))
        .to((Answer::AccountId, Answer::Hash))
        .into()
}

/// Run the one transaction of a request; where it has a key, the claim and the answer are part of it.
///
/// Refusals: the unit's, `idempotency_key_in_use`.
pub async fn write<D, T, F>(ctx: &Context, account: &Account, data: D, unit: F) -> Result<T, Error>
where
    D: Send + Sync + 'static,
    T: Serialize + Send + 'static,
    F: for<'u> Fn(&'u Tx, &'u D) -> BoxFuture<'u, Result<T, Error>> + Send + Sync + 'static,
{
    let Some(claim) = account.claim() else { return ctx.store.write(data, unit).await };
    let under = Under {
        account: account.id(),
        claim: claim.clone(),
        wall: ctx.clock.now(),
        vault: Arc::clone(&ctx.vault),
    };
    let record = ctx.store.write((data, under), move |tx, (data, under)| {
        // Nothing of it is done before it is awaited.
        let work = unit(tx, data);
        async move {
            tx.claim_first(&under.claim.row(under.account, under.wall)).await?;
            let record = work.await?;
            let answer = under.claim.wrap.finish(&record)?;
            keep(tx, &under.vault, under.account, under.claim.hash(), &answer);
            Ok(record)
        }
        .boxed()
    });
    let record = record.await?;
    claim.hold();
    Ok(record)
}

/// The key of a request that is one transaction.
struct Under {
    account: AccountToken,
    claim: Claim,
    wall: Timestamp,
    vault: Arc<Vault>,
}

/// Store the answer of a claimed key.
pub fn keep(tx: &Tx, vault: &Vault, account: AccountToken, hash: &[u8], answer: &Answer) {
    let sealed = vault.seal(&context(account, hash), &answer.body);
    tx.append(&idempotency_answer::Model {
        account_id: account,
        hash: hash.to_vec(),
        status: answer.status.into(),
        sealed: sealed.bytes,
        sealed_by: sealed.key,
    });
}

/// Give a key back whose request has come to nothing.
pub async fn free(tx: &Tx, account: AccountToken, hash: &[u8]) -> Result<(), Error> {
    claimed(account, hash).exec(tx).await?;
    Ok(())
}

/// Keys whose day is over, by the wall clock. One without an answer is in flight, however old.
pub fn due(wall: Timestamp) -> Select<idempotency_key::Entity> {
    let old = idempotency_key::Column::CreatedAt.lte(wall - IDEMPOTENCY_KEPT);
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

/// Forget a key whose day is over. A younger one of the same hash stays.
pub async fn forget(ctx: &Context, key: idempotency_key::Model) -> Result<(), Error> {
    let unit = ctx.store.write(key, |tx, key| {
        async move {
            let same = idempotency_key::Column::CreatedAt.eq(key.created_at);
            if claimed(key.account_id, &key.hash).filter(same).exec(tx).await?.rows_affected > 0 {
                let answer = idempotency_answer::Entity::delete_many()
                    .filter(idempotency_answer::Column::AccountId.eq(key.account_id))
                    .filter(idempotency_answer::Column::Hash.eq(key.hash.as_slice()));
                answer.exec(tx).await?;
            }
            Ok(())
        }
        .boxed()
    });
    unit.await
}

fn claimed(account: AccountToken, hash: &[u8]) -> DeleteMany<idempotency_key::Entity> {
    idempotency_key::Entity::delete_many()
        .filter(idempotency_key::Column::AccountId.eq(account))
        .filter(idempotency_key::Column::Hash.eq(hash))
}

/// A sealed answer opens only as the one of its key.
fn context(account: AccountToken, hash: &[u8]) -> Vec<u8> {
    [b"answer", account.id().as_bytes().as_slice(), hash].concat()
}

/// One text for all spellings of the same parameters: fields in order of their names, numbers and booleans as the
/// text that a form sends, without what is null.
fn canonical(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(flag) => canonical(&flag.to_string().into()),
        Value::Number(number) => canonical(&number.to_string().into()),
        Value::String(text) => format!("{}:{text}", text.len()),
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<String>()),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().filter(|(_, value)| !value.is_null()).collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields = fields.into_iter().fold(String::new(), |mut text, (name, value)| {
                // Writing to a String cannot fail.
                let _ = write!(text, "{}:{name}{}", name.len(), canonical(value));
                text
            });
            format!("{{{fields}}}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_is_the_same_in_any_spelling() {
        let json = json!({ "amount": 400, "capture": true, "card": { "name": "A", "cvc": null }, "reference": null });
        let form = json!({ "card": { "name": "A" }, "capture": "true", "amount": "400" });
        assert_eq!(canonical(&json), canonical(&form));
    }

    #[test]
    fn requests_that_differ_anywhere_are_told_apart() {
        let requests = [
            json!({}),
            json!({ "a": "" }),
            json!({ "a": "b" }),
            json!({ "a": ["b"] }),
            json!({ "a": { "b": "" } }),
            json!({ "ab": "" }),
            json!({ "a": "1:b" }),
            json!({ "a": "b", "c": "d" }),
            json!({ "a": "b1:c1:d" }),
            json!({ "a": ["b", "c"] }),
            json!({ "a": ["c", "b"] }),
        ];
        let mut texts: Vec<_> = requests.iter().map(canonical).collect();
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), requests.len());
    }
}
