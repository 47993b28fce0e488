//! Deposits are money that arrives from outside (specification, Deposits; `docs/decisions.md`, 208).

pub mod params;
pub mod view;

use entity::audit_entry::Action;
use entity::counter::Counted;
use entity::deposit;
use entity::event::EventType;
use entity::journal_entry::EntryKind;
use entity::posting::Book;
use entity::{DepositToken, Owned, Timestamp};
use serde_json::json;
use store::Tx;

use super::audit::{self, OperatorAction};
use super::context::{Account, Context};
use super::events;
use super::ledger::{self, Entry};
use super::page::{List, ListPage};
use crate::Store;
use crate::error::Error;
use crate::params::Paging;
use crate::services::by_key;
use crate::services::counts;
use crate::services::deposits::params::DepositOrder;
use crate::services::deposits::view::Deposit;

/// Returns one deposit.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Deposit, Error> {
    Ok(by_key::find::<deposit::Entity>(ctx.store.read(), account, token).await?.into())
}

/// Lists the account's deposits, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<Deposit>, Error> {
    let deposits = List::newest_first(account.id(), deposit::Entity::owned_by(account.id()));
    Ok(deposits.counted(ctx, Counted::Deposits, paging).await?.map(Deposit::from))
}

/// Creates a deposit on an operator's request, and records it in the audit trail.
pub async fn arrive(store: &Store, account: Account, arrival: DepositOrder) -> Result<Deposit, Error> {
    store
        .write((account, arrival), async |tx, (account, arrival)| {
            let row = row_of(account, tx.token(), arrival.clone());
            let detail = json!({ "amount": row.amount });
            let act =
                OperatorAction::about(Action::DepositCreated, row.account_id, row.id.to_string(), detail);
            audit::record(tx, &act)?;
            make(tx, &row).await
        })
        .await
}

pub fn row_of(account: &Account, id: DepositToken, arrival: DepositOrder) -> deposit::Model {
    deposit::Model {
        account_id: account.id(),
        id,
        amount: arrival.amount,
        narration: arrival.narration,
        // It is shown in whole seconds, and a clock that is moved there finds it.
        available_at: arrival.available_at.map_or(account.now, Timestamp::next_second),
        created_at: account.now,
    }
}

/// Creates a deposit: its row, its postings and its event.
pub async fn make(tx: &Tx, row: &deposit::Model) -> Result<Deposit, Error> {
    book(tx, row).await?;
    let deposit = Deposit::from(row.clone());
    events::record(tx, row.account_id, row.created_at, EventType::DepositCreated, &deposit)?;
    Ok(deposit)
}

/// Inserts the row and its postings, without an event.
pub async fn book(tx: &Tx, row: &deposit::Model) -> Result<(), Error> {
    // Insert immediately: a debit of the same batch must see that the money has not arrived yet.
    tx.insert(row).await?;
    counts::add(tx, row.account_id, Counted::Deposits, 1);
    let entry = Entry {
        account: row.account_id,
        kind: EntryKind::Deposit,
        source: row.id.into(),
        now: row.created_at,
    };
    // A deposit dated before its creation is available immediately.
    let available_on = Ord::max(row.available_at, row.created_at).day();
    ledger::record(tx, &entry, available_on, row.amount, &[(Book::Deposits, -row.amount)]);
    Ok(())
}
