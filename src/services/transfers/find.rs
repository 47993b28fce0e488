//! Finds transfers and their lines.

use std::collections::HashMap;

use entity::counter::Counted;
use entity::journal_entry::EntryKind;
use entity::transfer::{self, Column, TransferKind};
use entity::{JournalEntryToken, Owned, TransferToken, charge, journal_entry, posting};
use sea_orm::{ColumnTrait, QueryFilter};

use crate::error::Error;
use crate::params::{Paging, Params};
use crate::services::by_key;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::services::recipients;
use crate::services::transfers::view::{LineItem, Transfer};

/// Returns one transfer.
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Transfer, Error> {
    Ok(by_token(ctx, account, token).await?.into())
}

async fn by_token(ctx: &Context, account: &Account, token: &str) -> Result<transfer::Model, Error> {
    by_key::find::<transfer::Entity>(ctx.store.read(), account, token).await
}

/// Lists the account's transfers, newest first.
pub async fn list(ctx: &Context, account: &Account, paging: Paging) -> Result<ListPage<Transfer>, Error> {
    let transfers = List::newest_first(account.id(), transfer::Entity::owned_by(account.id()));
    Ok(transfers.counted(ctx, Counted::Transfers, paging).await?.map(Transfer::from))
}

/// Lists a recipient's transfers, newest first.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn of_recipient(
    ctx: &Context,
    account: &Account,
    recipient: &str,
    paging: Params<Paging>,
) -> Result<ListPage<Transfer>, Error> {
    let recipient = recipients::find::by_token(ctx.store.read(), account, recipient).await?;
    let transfers = List::newest_first(account.id(), transfer::Entity::owned_by(account.id()));
    let transfers = transfers.part_of(Counted::Transfers, Column::RecipientId.eq(recipient.id));
    let page = transfers.ranged(ctx, paging.valid()?).await?;
    Ok(page.map(Transfer::of_recipient))
}

/// Lists a transfer's line items, newest first.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn line_items(
    ctx: &Context,
    account: &Account,
    token: &str,
    paging: Params<Paging>,
) -> Result<ListPage<LineItem>, Error> {
    let transfer = by_token(ctx, account, token).await?;
    let paging = paging.valid()?;
    match transfer.kind {
        TransferKind::Manual => {
            let records = if paging.offset() == 0 { vec![LineItem::from_row(&transfer)] } else { Vec::new() };
            Ok(ListPage { records, count: 1, paging })
        }
        TransferKind::Settlement => list_settled(ctx, account, transfer.id, paging).await,
    }
}

/// Lists the movements that a settlement paid out, in three queries whatever the length of the page.
async fn list_settled(
    ctx: &Context,
    account: &Account,
    transfer: TransferToken,
    paging: Paging,
) -> Result<ListPage<LineItem>, Error> {
    let lines = posting::Entity::owned_by(account.id()).filter(posting::Column::TransferId.eq(transfer));
    let page = List::newest_first(account.id(), lines).never_shrinking().ranged(ctx, paging).await?;
    let entries = page.records.iter().map(|line| line.entry_id.id());
    let entries = by_key::rows::<journal_entry::Entity>(ctx.store.backend(), account.id(), entries);
    let entries = entries.all(ctx.store.read()).await?;
    let entries: HashMap<JournalEntryToken, _> = entries.into_iter().map(|entry| (entry.id, entry)).collect();
    let entry_of = |line: &posting::Model| entries.get(&line.entry_id);
    let of_charge =
        |line: &&posting::Model| entry_of(line).is_some_and(|entry| entry.kind == EntryKind::Charge);
    let charges = page.records.iter().filter(of_charge).map(|line| line.id.id());
    let charges = by_key::rows::<charge::Entity>(ctx.store.backend(), account.id(), charges);
    let charges = charges.all(ctx.store.read()).await?;
    let mut charges: HashMap<_, _> = charges.into_iter().map(|charge| (charge.id.id(), charge)).collect();
    let mut items = Vec::with_capacity(page.records.len());
    for line in &page.records {
        let entry = entry_of(line).ok_or_else(|| Error::internal("a posting without its entry"))?;
        items.push(LineItem::settled(line, entry, charges.remove(&line.id.id())));
    }
    Ok(ListPage { records: items, count: page.count, paging })
}
