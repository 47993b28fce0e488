//! The audit trail (decisions 14): what operators have done, in the commit that did it, and which keys were used from where
//! ([`key_uses`]).
//!
//! A command opens the store as its operator ([`Store::acts_for`]), so a unit that changes something on an operator's word
//! records its act and needs not know who that is. Where no operator writes there is no act: the sandbox may order the same
//! of its own account.

pub mod key_uses;
mod list;

use std::net::IpAddr;

use entity::audit_entry::{self, Action, Column};
use entity::{AccountToken, JsonText, Timestamp};
use futures::FutureExt;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, Select};
use serde_json::{Value, json};
use uuid::Uuid;

pub use self::key_uses::KeyUses;
pub use self::list::{AuditFilter, list};
use super::context::Context;
use crate::error::Error;
use crate::limits::AUDIT_KEPT;
use crate::store::{Operator, Store, Tx};

/// What an operator does.
#[derive(Debug)]
pub struct OperatorAction {
    /// What.
    pub action: Action,
    /// Whose account it is about, where it is about one.
    pub account: Option<AccountToken>,
    /// What it is about.
    pub subject: String,
    /// How, as an object. Nothing secret.
    pub detail: Value,
}

impl OperatorAction {
    /// About an account.
    pub fn on(action: Action, account: AccountToken, detail: Value) -> Self {
        Self::about(action, account, account.to_string(), detail)
    }

    /// About something of an account's.
    pub fn about(action: Action, account: AccountToken, subject: String, detail: Value) -> Self {
        Self { action, account: Some(account), subject, detail }
    }

    fn entry(&self, id: Uuid, operator: &Operator) -> Result<audit_entry::Model, Error> {
        Ok(audit_entry::Model {
            id,
            action: self.action,
            account: self.account,
            subject: self.subject.clone(),
            detail: JsonText::of(&self.detail)?,
            operator: operator.name.clone(),
            recorded_at: operator.at,
        })
    }
}

/// Record an act with what it changes, if an operator does it.
pub fn record(tx: &Tx, act: &OperatorAction) -> Result<(), Error> {
    if let Some(operator) = tx.operator() {
        tx.append(&act.entry(tx.id(), operator)?);
    }
    Ok(())
}

/// Record an act that changes nothing: it has told somebody something.
pub async fn record_alone(store: &Store, act: OperatorAction) -> Result<(), Error> {
    store.write(act, |tx, act| async move { record(tx, act) }.boxed()).await
}

/// Record that somebody has signed in at the dashboard with the operator's key, and from where.
pub async fn signed_in(ctx: &Context, from: IpAddr) -> Result<(), Error> {
    let (action, subject) = (Action::OperatorSignedIn, "dashboard".into());
    at_dashboard(ctx, OperatorAction { action, account: None, subject, detail: json!({ "from": from }) })
        .await
}

/// Record that he looks at an account from now on.
pub async fn viewed(ctx: &Context, account: AccountToken, from: IpAddr) -> Result<(), Error> {
    at_dashboard(ctx, OperatorAction::on(Action::AccountViewed, account, json!({ "from": from }))).await
}

async fn at_dashboard(ctx: &Context, act: OperatorAction) -> Result<(), Error> {
    let operator = Operator { name: "whoever has the operator's key".into(), at: ctx.clock.now() };
    let entry = act.entry(ctx.ids.next(), &operator)?;
    let unit = ctx.store.write(entry, |tx, entry| {
        async move {
            tx.append(entry);
            Ok(())
        }
        .boxed()
    });
    unit.await
}

/// Entries that were kept long enough, by the wall clock.
pub fn old(wall: Timestamp) -> Select<audit_entry::Entity> {
    audit_entry::Entity::find()
        .filter(Column::RecordedAt.lte(wall - AUDIT_KEPT))
        .order_by_asc(Column::RecordedAt)
}

/// Forget an entry that is old.
pub async fn forget(ctx: &Context, entry: audit_entry::Model) -> Result<(), Error> {
    let unit = ctx.store.write(entry, |tx, entry| {
        async move {
            audit_entry::Entity::delete_by_id(entry.id).exec(tx).await?;
            Ok(())
        }
        .boxed()
    });
    unit.await
}
