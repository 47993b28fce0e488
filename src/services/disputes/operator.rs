//! Operator commands for disputes: the network's part, entered by hand. Operators know records only by their tokens.

use entity::audit_entry::Action;
use entity::dispute::{self, DisputeCategory, DisputeStatus};
use entity::{AccountToken, ChargeToken, DisputeToken, Listed, Owned, Timestamp, account, charge};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Select};
use serde_json::json;

use super::open::OpenDisputeUnit;
use super::transitions::{DisputeTime, decided};
use crate::Store;
use crate::error::{Error, ErrorCode};
use crate::services::audit::{self, OperatorAction};
use crate::services::disputes::view::Dispute;
use crate::services::installation;

/// Opens a dispute, of the whole remaining amount if none is given.
///
/// Refusals, first match wins: `service_unavailable`, `not_found`, `invalid_resource`.
pub async fn open(
    store: &Store,
    wall: Timestamp,
    charge: &str,
    amount: Option<i64>,
    category: DisputeCategory,
) -> Result<Dispute, Error> {
    let id: ChargeToken = charge.parse().map_err(|_| ErrorCode::NotFound)?;
    let owner = find_owner(
        store,
        |account| charge::Entity::at(account, id),
        |row: &charge::Model| !row.is_authorisation(),
    );
    let account = owner.await?;
    let now = account.now(wall);
    let arriving = OpenDisputeUnit { account: account.id, charge: id, amount, category, now };
    let detail = json!({ "amount": amount, "category": category });
    let act = OperatorAction::about(Action::DisputeOpened, account.id, id.to_string(), detail);
    let unit = store.write((arriving, act), async |tx, (arriving, act)| {
        let dispute = arriving.record(tx).await?;
        audit::record(tx, act)?;
        Ok(dispute)
    });
    unit.await
}

/// Decides a dispute.
///
/// Refusals, first match wins: `service_unavailable`, `not_found`, `invalid_state`.
pub async fn resolve(
    store: &Store,
    wall: Timestamp,
    dispute: &str,
    status: DisputeStatus,
) -> Result<Dispute, Error> {
    let id: DisputeToken = dispute.parse().map_err(|_| ErrorCode::NotFound)?;
    let account = find_owner(store, |account| dispute::Entity::at(account, id), |_| true).await?;
    let now = account.now(wall);
    // Who decides by hand believes the clock.
    let time = DisputeTime { now, earliest: now };
    let decision: (AccountToken, DisputeToken, DisputeStatus, DisputeTime) = (account.id, id, status, time);
    let detail = json!({ "status": status });
    let act = OperatorAction::about(Action::DisputeResolved, account.id, id.to_string(), detail);
    let unit = store.write((decision, act), async |tx, ((account, id, status, time), act)| {
        let dispute = decided(tx, *account, *id, *status, *time).await?;
        audit::record(tx, act)?;
        Ok(dispute)
    });
    unit.await
}

/// Finds the first open account that has a record which `is_meant`. It is looked up under each of them, because the tables' keys begin
/// with the account; but not under those that a snapshot is being restored into, which may have it.
///
/// Refusals: `service_unavailable` if no other account has the record while a snapshot is being restored; else `not_found`.
async fn find_owner<E: Owned>(
    store: &Store,
    record: impl Fn(AccountToken) -> Select<E>,
    is_meant: impl Fn(&E::Model) -> bool,
) -> Result<account::Model, Error> {
    let restoring = installation::restoring(store.read()).await?;
    let open = account::Entity::find().filter(account::Column::ClosedAt.is_null());
    let mut accounts = open.all(store.read()).await?;
    accounts.retain(|account| restoring.iter().all(|(restoring, _)| *restoring != account.id));
    for account in accounts {
        if record(account.id).one(store.read()).await?.is_some_and(|row| is_meant(&row)) {
            return Ok(account);
        }
    }
    let refusal = if restoring.is_empty() { ErrorCode::NotFound } else { ErrorCode::ServiceUnavailable };
    Err(refusal.into())
}
