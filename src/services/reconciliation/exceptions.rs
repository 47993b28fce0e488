//! Exceptions as operators work them off.

use std::collections::HashMap;

use entity::audit_entry::Action;
use entity::reconciliation_exception::{self as exception, Column, ExceptionKind, ExceptionState};
use entity::{ExceptionToken, Timestamp, statement};
use futures::FutureExt;
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait};
use serde_json::json;
use uuid::Uuid;

use super::state::{ExceptionAction, next};
use crate::error::{Error, ErrorCode};
use crate::params::Paging;
use crate::services::audit::{self, OperatorAction};
use crate::store::{Store, Tx};
use crate::views::reconciliation::ExceptionRecord;

/// A filter of exceptions.
#[derive(Debug, Clone, Copy)]
pub struct ExceptionFilter {
    /// Only those in this state; otherwise those that are not resolved.
    pub state: Option<ExceptionState>,
    /// Only those of this kind.
    pub kind: Option<ExceptionKind>,
    /// The page to return.
    pub paging: Paging,
}

/// Returns a page of exceptions, oldest first.
pub async fn list(store: &Store, filter: ExceptionFilter) -> Result<Vec<ExceptionRecord>, Error> {
    let ExceptionFilter { state, kind, paging } = filter;
    let states =
        state.map_or_else(|| vec![ExceptionState::Open, ExceptionState::Explained], |state| vec![state]);
    let rows = exception::Entity::find()
        .filter(Column::State.is_in(states))
        .apply_if(kind, |rows, kind| rows.filter(Column::Kind.eq(kind)))
        .order_by_asc(Column::Id)
        .offset(paging.offset())
        .limit(paging.per_page);
    records(store.read(), rows.all(store.read()).await?).await
}

/// Returns an exception.
///
/// Refusals: `not_found`.
pub async fn find(store: &Store, token: ExceptionToken) -> Result<ExceptionRecord, Error> {
    let row = exception::Entity::find_by_id(token).one(store.read()).await?;
    record(store.read(), row.ok_or(ErrorCode::NotFound)?).await
}

/// Records why an exception is there.
///
/// Refusals, first match wins: `not_found`, `invalid_state` if it is resolved.
pub async fn explain(
    store: &Store,
    token: ExceptionToken,
    note: String,
    wall: Timestamp,
) -> Result<ExceptionRecord, Error> {
    change(store, (token, ExceptionAction::Explain, note, wall)).await
}

/// Records that an exception is settled.
///
/// Refusals: as [`explain`].
pub async fn resolve(
    store: &Store,
    token: ExceptionToken,
    note: String,
    wall: Timestamp,
) -> Result<ExceptionRecord, Error> {
    change(store, (token, ExceptionAction::Resolve, note, wall)).await
}

type Change = (ExceptionToken, ExceptionAction, String, Timestamp);

async fn change(store: &Store, change: Change) -> Result<ExceptionRecord, Error> {
    let row = store.write(change, |tx, change| change_row(tx, change).boxed()).await?;
    record(store.read(), row).await
}

async fn change_row(tx: &Tx, (token, action, note, wall): &Change) -> Result<exception::Model, Error> {
    let row = exception::Entity::find_by_id(*token).lock(LockType::NoKeyUpdate).one(tx).await?;
    let seen = row.ok_or(ErrorCode::NotFound)?;
    let state = next(seen.state, *action).ok_or(ErrorCode::InvalidState)?;
    let row = exception::Model {
        state,
        note: Some(note.clone()),
        author: tx.operator().map(|operator| operator.name.clone()),
        changed_at: *wall,
        ..seen.clone()
    };
    tx.update(&seen, &row).await?;
    let action = match action {
        ExceptionAction::Explain => Action::ExceptionExplained,
        ExceptionAction::Resolve | ExceptionAction::Match => Action::ExceptionResolved,
    };
    let detail = json!({ "kind": row.kind, "reference": row.reference, "note": note });
    audit::record(tx, &OperatorAction { action, account: row.account, subject: token.to_string(), detail })?;
    Ok(row)
}

async fn record(db: &impl ConnectionTrait, row: exception::Model) -> Result<ExceptionRecord, Error> {
    Ok(records(db, vec![row]).await?.remove(0))
}

/// Returns what operators see, with the names of the statements.
async fn records(
    db: &impl ConnectionTrait,
    rows: Vec<exception::Model>,
) -> Result<Vec<ExceptionRecord>, Error> {
    let ids = rows.iter().flat_map(|row| [Some(row.statement_id), row.resolved_by]).flatten();
    let names = statement::Entity::find()
        .filter(statement::Column::Id.is_in(ids))
        .select_only()
        .columns([statement::Column::Id, statement::Column::Name])
        .into_tuple::<(Uuid, String)>();
    let names: HashMap<_, _> = names.all(db).await?.into_iter().collect();
    let name = |id: Uuid| names.get(&id).cloned();
    Ok(rows
        .into_iter()
        .map(|row| {
            let (found_by, resolved_by) = (name(row.statement_id), row.resolved_by.and_then(name));
            ExceptionRecord::new(row, found_by.unwrap_or_default(), resolved_by)
        })
        .collect())
}
