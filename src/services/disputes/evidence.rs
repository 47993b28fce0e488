//! The batch of evidence against a dispute, editable until it is submitted.

use std::collections::HashMap;

use entity::dispute::DisputeStatus;
use entity::evidence::{self, Column};
use entity::{AccountToken, DisputeToken, FileToken, Owned, file};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait};
use store::Tx;

use super::state::{check_answerable, effective_status};
use super::transitions::{DisputeTime, answer, lock_dispute};
use super::{enabled, find};
use crate::error::Error;
use crate::params::values::INVALID;
use crate::params::{FieldErrors, Params, Patch};
use crate::services::context::{Account, Caller, Context};
use crate::services::disputes::evidence_view::EvidenceBatch;
use crate::services::disputes::params::{ChangedEvidence, ChangedKind};
use crate::services::files::link::Links;
use crate::services::idempotency;

/// Returns the current batch.
///
/// Refusals, first match wins: `api_unavailable`, `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<EvidenceBatch, Error> {
    enabled(account)?;
    let row = find::by_token(ctx, account, token).await?;
    let db = ctx.store.read();
    batch(db, account.id(), of_dispute(db, account.id(), row.id).await?, &Links::new(ctx, account)).await
}

/// Changes the batch.
///
/// Refusals, first match wins: `api_unavailable`, `not_found`, `invalid_resource` (texts that are too long, files that
/// do not exist), `dispute_already_under_review`, `dispute_already_cancelled`, `dispute_already_resolved`.
pub async fn update(
    ctx: &Context,
    caller: &Caller,
    token: &str,
    params: Params<ChangedEvidence>,
) -> Result<EvidenceBatch, Error> {
    let account = &caller.account;
    enabled(account)?;
    let id = find::by_token(ctx, account, token).await?.id;
    let (kinds, faults) = params.kinds();
    if !faults.is_empty() {
        // Adds the faults of missing files.
        let missing = named(ctx.store.read(), account.id(), &kinds, faults, None).await;
        return Err(missing.err().unwrap_or_else(|| Error::internal("a fault was lost")));
    }
    let (time, links) = (DisputeTime::new(ctx, account), Links::new(ctx, account));
    let change = Change { account: account.id(), time, id, kinds, links };
    idempotency::write(ctx, caller, change, async |tx, change| change.record(tx).await).await
}

/// Submits the batch, even an empty one, for review; from then on it is frozen.
///
/// Refusals, first match wins: `api_unavailable`, `not_found`, `dispute_already_under_review`,
/// `dispute_already_cancelled`, `dispute_already_resolved`.
pub async fn submit(ctx: &Context, caller: &Caller, token: &str) -> Result<(), Error> {
    answer(ctx, caller, token, DisputeStatus::EvidenceUnderReview).await.map(drop)
}

struct Change {
    account: AccountToken,
    time: DisputeTime,
    id: DisputeToken,
    kinds: Vec<ChangedKind>,
    links: Links,
}

impl Change {
    async fn record(&self, tx: &Tx) -> Result<EvidenceBatch, Error> {
        // Locks files before the dispute, in the order in which file deletion locks them.
        let lock = Some(LockType::NoKeyUpdate);
        let files = named(tx, self.account, &self.kinds, FieldErrors::default(), lock).await?;
        let dispute = lock_dispute(tx, self.account, self.id).await?;
        check_answerable(effective_status(self.time.earliest, &dispute))?;
        let before = of_dispute(tx, self.account, self.id).await?;
        let after: Vec<_> = self.kinds.iter().filter_map(|kind| self.after(kind, &before, &files)).collect();
        let gone = evidence::Entity::delete_of(self.account).filter(Column::DisputeId.eq(self.id));
        gone.exec(tx).await?;
        for row in &after {
            tx.insert(row).await?;
        }
        batch(tx, self.account, after, &self.links).await
    }

    /// Returns the evidence of a kind after the change, if any.
    fn after(
        &self,
        change: &ChangedKind,
        before: &[evidence::Model],
        files: &HashMap<String, FileToken>,
    ) -> Option<evidence::Model> {
        let before = before.iter().find(|row| row.kind == change.kind);
        let file_id = match &change.file {
            Patch::Absent => before.and_then(|row| row.file_id),
            Patch::Blank => None,
            Patch::Value(token) => files.get(token.trim()).copied(),
        };
        let text = match &change.text {
            Patch::Absent => before.and_then(|row| row.text.clone()),
            Patch::Blank => None,
            Patch::Value(text) => Some(text.clone()),
        };
        let is_any = file_id.is_some() || text.is_some();
        is_any.then_some(evidence::Model {
            account_id: self.account,
            dispute_id: self.id,
            kind: change.kind,
            file_id,
            text,
        })
    }
}

/// Finds the files that the changes name, by token. Each missing file is one more fault.
async fn named(
    db: &impl ConnectionTrait,
    account: AccountToken,
    kinds: &[ChangedKind],
    mut faults: FieldErrors,
    lock: Option<LockType>,
) -> Result<HashMap<String, FileToken>, Error> {
    let tokens = kinds.iter().filter_map(|change| change.file.as_ref().value().map(|token| token.trim()));
    let ids: Vec<FileToken> = tokens.filter_map(|token| token.parse().ok()).collect();
    let mut found = HashMap::new();
    if !ids.is_empty() {
        let rows = file::Entity::owned_by(account)
            .filter(file::Column::Id.is_in(ids))
            .order_by_asc(file::Column::Id)
            .apply_if(lock, QuerySelect::lock);
        found.extend(rows.all(db).await?.into_iter().map(|row| (row.id.to_string(), row.id)));
    }
    for change in kinds {
        if let Patch::Value(token) = &change.file
            && !found.contains_key(token.trim())
        {
            faults.add(&change.file_param(), INVALID);
        }
    }
    if faults.is_empty() { Ok(found) } else { Err(faults.into()) }
}

async fn of_dispute(
    db: &impl ConnectionTrait,
    account: AccountToken,
    id: DisputeToken,
) -> Result<Vec<evidence::Model>, Error> {
    Ok(evidence::Entity::owned_by(account).filter(Column::DisputeId.eq(id)).all(db).await?)
}

/// Builds the view of the batch, reading its files in one query.
async fn batch(
    db: &impl ConnectionTrait,
    account: AccountToken,
    rows: Vec<evidence::Model>,
    links: &Links,
) -> Result<EvidenceBatch, Error> {
    let ids: Vec<_> = rows.iter().filter_map(|row| row.file_id).collect();
    let files = if ids.is_empty() {
        Vec::new()
    } else {
        file::Entity::owned_by(account).filter(file::Column::Id.is_in(ids)).all(db).await?
    };
    let mut batch = EvidenceBatch::default();
    for row in rows {
        let file = files.iter().find(|file| Some(file.id) == row.file_id);
        batch.set(row.kind, file.map(|file| links.shown(file)), row.text);
    }
    Ok(batch)
}
