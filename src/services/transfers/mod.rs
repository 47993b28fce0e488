//! Transfers pay money out, one file per operation (specification, Transfers; `docs/decisions.md`, 202 and 203).

pub mod create;
pub mod find;
pub mod params;
pub mod returns;
pub mod search;
pub mod state;
pub mod view;

use entity::counter::Counted;
use entity::event::EventType;
use entity::transfer;
use store::Tx;

pub use create::{create, transfer_row};
pub use find::{line_items, list, of_recipient, show};
pub use search::search;

use crate::error::Error;
use crate::services::counts;
use crate::services::events;
use crate::services::transfers::view::Transfer;

/// Records a transfer whose money has been debited, with its count and its event.
pub fn record(tx: &Tx, row: transfer::Model) -> Result<Transfer, Error> {
    tx.append(&row);
    counts::add(tx, row.account_id, Counted::Transfers, 1);
    let (account, now) = (row.account_id, row.created_at);
    let transfer = Transfer::from(row);
    events::record(tx, account, now, EventType::TransferCreated, &transfer)?;
    Ok(transfer)
}
