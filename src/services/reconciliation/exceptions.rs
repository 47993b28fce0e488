//! Exceptions as operators work them off.

use std::collections::HashMap;

use entity::audit_entry::Action;
use entity::reconciliation_exception::{self as exception, Column, ExceptionKind, ExceptionState};
use entity::{ExceptionToken, Timestamp, statement};
use recording::has_card_number;
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait};
use serde_json::json;
use store::{Operator, Tx};
use uuid::Uuid;

use super::state::{ExceptionAction, next};
use crate::Store;
use crate::error::{Error, ErrorCode};
use crate::limits::NOTE_LENGTH_MAX;
use crate::params::Paging;
use crate::services::audit::{self, OperatorAction};
use crate::services::reconciliation::view::ExceptionRecord;

#[derive(Debug, Clone, Copy)]
pub struct ExceptionFilter {
    /// Only those in this state; otherwise those that are not resolved.
    pub state: Option<ExceptionState>,
    /// Only those of this kind.
    pub kind: Option<ExceptionKind>,
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

/// Parses a note: some words on one line, without card numbers.
pub fn note(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > NOTE_LENGTH_MAX || text.chars().any(char::is_control) {
        return Err(format!("must be 1 to {NOTE_LENGTH_MAX} characters on one line"));
    }
    if has_card_number(text) {
        return Err("must not hold a card number".into());
    }
    Ok(text.to_owned())
}

/// A change that an operator makes to an exception.
#[derive(Debug)]
pub struct ExceptionChange {
    pub token: ExceptionToken,
    /// The action on the exception.
    pub action: ExceptionAction,
    /// The reason.
    pub note: String,
    /// The person, at the dashboard; otherwise the operator who runs the command.
    pub by: Option<Operator>,
    /// Now, by the wall clock.
    pub wall: Timestamp,
}

/// Records why an exception is there, or that it is resolved.
///
/// Refusals, first match wins: `not_found`, `invalid_state` if it is resolved.
pub async fn change(store: &Store, change: ExceptionChange) -> Result<ExceptionRecord, Error> {
    let row = store.write(change, async |tx, change| change.record(tx).await).await?;
    record(store.read(), row).await
}

impl ExceptionChange {
    async fn record(&self, tx: &Tx) -> Result<exception::Model, Error> {
        let row = exception::Entity::find_by_id(self.token).lock(LockType::NoKeyUpdate).one(tx).await?;
        let seen = row.ok_or(ErrorCode::NotFound)?;
        let state = next(seen.state, self.action).ok_or(ErrorCode::InvalidState)?;
        let operator = self.by.as_ref().or(tx.operator());
        let row = exception::Model {
            state,
            note: Some(self.note.clone()),
            author: operator.map(|operator| operator.name.clone()),
            changed_at: self.wall,
            ..seen.clone()
        };
        tx.update(&seen, &row).await?;
        let action = match self.action {
            ExceptionAction::Explain => Action::ExceptionExplained,
            ExceptionAction::Resolve | ExceptionAction::Match => Action::ExceptionResolved,
        };
        let detail = json!({ "kind": row.kind, "reference": row.reference, "note": self.note });
        let act = OperatorAction { action, account: row.account, subject: self.token.to_string(), detail };
        audit::record_as(tx, self.by.as_ref(), &act)?;
        Ok(row)
    }
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
