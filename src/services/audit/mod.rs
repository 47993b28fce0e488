//! The audit trail: operator actions, recorded in the commit that made the change, and the addresses from which keys
//! were used ([`key_uses`](super::memory::key_uses)) (`docs/decisions.md`, 344).
//!
//! A command opens the store as its operator ([`Store::set_operator`]), so a unit that makes an operator's change records
//! the action without knowing the operator. A write without an operator records no action: the sandbox may make the
//! same change to its own account. A worker seals the entries afterwards (`chain`, `docs/decisions.md`, 385).

pub(super) mod anchor;
mod chain;
mod head;
mod list;
mod verify;
pub mod view;
mod watch;

use std::net::IpAddr;

use entity::audit_entry::{self, Action};
use entity::{AccountToken, JsonText, Timestamp, key_use};
use sea_orm::{ColumnTrait, Condition, EntityTrait, QueryFilter, QueryOrder, Select};
use serde_json::{Value, json};
use store::{Operator, Tx};
use uuid::Uuid;

pub use self::anchor::AuditAnchor;
pub use self::chain::{begin, first_head, forget, old, seal};
pub use self::head::{AuditHead, TAMPERING};
pub use self::list::{AuditFilter, list};
pub use self::verify::{AuditFinding, AuditReport, verify};
pub use self::watch::TrailWatch;
use super::context::Context;
use crate::Store;
use crate::error::Error;
use crate::limits::AUDIT_RETENTION;

#[derive(Debug)]
pub struct OperatorAction {
    pub action: Action,
    /// The account it concerns, if any.
    pub account: Option<AccountToken>,
    /// The token or name of its subject.
    pub subject: String,
    /// Details as a JSON object, without secrets.
    pub detail: Value,
}

impl OperatorAction {
    /// Makes an action on an account.
    pub fn on(action: Action, account: AccountToken, detail: Value) -> Self {
        Self::about(action, account, account.to_string(), detail)
    }

    /// Makes an action on a record of an account.
    pub fn about(action: Action, account: AccountToken, subject: String, detail: Value) -> Self {
        Self { action, account: Some(account), subject, detail }
    }

    /// Makes an action on the trail itself.
    pub fn on_trail(action: Action, detail: Value) -> Self {
        Self { action, account: None, subject: "audit trail".into(), detail }
    }

    /// Makes an action on the wall clock.
    pub fn on_clock(action: Action, detail: Value) -> Self {
        Self { action, account: None, subject: "clock".into(), detail }
    }

    /// Makes an action at the dashboard that concerns no account.
    pub fn on_dashboard(action: Action, detail: Value) -> Self {
        Self { action, account: None, subject: "dashboard".into(), detail }
    }

    fn entry(&self, id: Uuid, operator: &Operator) -> Result<audit_entry::Model, Error> {
        Ok(audit_entry::Model {
            id,
            action: self.action,
            account: self.account,
            subject: self.subject.clone(),
            detail: JsonText::encode(&self.detail)?,
            operator: operator.name.clone(),
            recorded_at: operator.at,
            number: None,
            kept_from: None,
            mac: None,
            link: None,
        })
    }
}

/// Records an action with the change it makes, if an operator acts.
pub fn record(tx: &Tx, act: &OperatorAction) -> Result<(), Error> {
    record_as(tx, None, act)
}

/// Records an action of a person at the dashboard, or else of the operator who runs the command, if there is one.
pub fn record_as(tx: &Tx, person: Option<&Operator>, act: &OperatorAction) -> Result<(), Error> {
    person.or(tx.operator()).map_or(Ok(()), |operator| record_by(tx, operator, act))
}

/// Records with a server's change what an operator has to know of it.
pub fn record_by_server(tx: &Tx, act: &OperatorAction, wall: Timestamp) -> Result<(), Error> {
    record_by(tx, &server(wall), act)
}

/// Returns the server as the one who acts.
pub fn server(at: Timestamp) -> Operator {
    Operator { name: "the server".into(), at }
}

/// Records an action that changes nothing but discloses data.
pub async fn record_alone(store: &Store, act: OperatorAction) -> Result<(), Error> {
    store.write(act, async |tx, act| record(tx, act)).await
}

/// The name of the operator who signs in with the operator's key, which names no person.
pub const KEY_HOLDER: &str = "holder of the operator's key";

/// Records a sign-in at the dashboard with the operator's key, and the client's address, if it is known.
pub async fn signed_in(ctx: &Context, from: Option<IpAddr>) -> Result<(), Error> {
    at_dashboard(
        ctx,
        KEY_HOLDER,
        OperatorAction::on_dashboard(Action::OperatorSignedIn, json!({ "from": from })),
    )
    .await
}

/// Records that an operator who is signed in opened an account in the dashboard.
pub async fn record_view(
    ctx: &Context,
    by: &str,
    account: AccountToken,
    from: Option<IpAddr>,
) -> Result<(), Error> {
    at_dashboard(ctx, by, OperatorAction::on(Action::AccountViewed, account, json!({ "from": from }))).await
}

/// Records what a person does at the dashboard with the unit's change.
pub fn record_by(tx: &Tx, operator: &Operator, act: &OperatorAction) -> Result<(), Error> {
    tx.append(&act.entry(tx.id(), operator)?);
    Ok(())
}

async fn at_dashboard(ctx: &Context, by: &str, act: OperatorAction) -> Result<(), Error> {
    let operator = Operator { name: by.into(), at: ctx.clock.now() };
    let entry = (operator, act);
    ctx.store.write(entry, async |tx, (operator, act)| record_by(tx, operator, act)).await
}

/// Writes the counted uses of keys.
pub async fn write_key_uses(ctx: &Context) -> Result<(), Error> {
    ctx.memory.key_uses.write(&ctx.store, ctx.clock.now().day()).await
}

/// Selects uses of keys past their retention, by the wall clock.
pub fn old_key_uses(wall: Timestamp) -> Select<key_use::Entity> {
    key_use::Entity::find()
        .filter(key_use::COLUMN.last_at.lte(wall - AUDIT_RETENTION))
        .order_by_asc(key_use::Column::LastAt)
}

/// Deletes uses of a key past their retention.
pub async fn forget_key_use(ctx: &Context, uses: key_use::Model) -> Result<(), Error> {
    let key_use::Model { account_id, hash, day, address, .. } = uses;
    let same = Condition::all()
        .add(key_use::Column::AccountId.eq(account_id))
        .add(key_use::Column::Hash.eq(hash))
        .add(key_use::Column::Day.eq(day))
        .add(key_use::Column::Address.eq(address));
    ctx.delete(key_use::Entity::delete_many().filter(same)).await
}
