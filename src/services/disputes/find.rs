//! Finds disputes.

use std::collections::HashMap;

use entity::counter::Counted;
use entity::dispute::{self, Column, DisputeStatus};
use entity::{AccountToken, ChargeToken, Listed, Owned, Timestamp, charge};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait};

use super::enabled;
use crate::error::{Error, ErrorCode};
use crate::params::{Params, Sorting};
use crate::services::accounts::wipe::deleted;
use crate::services::by_key;
use crate::services::charges::view::Charge;
use crate::services::context::{Account, Context};
use crate::services::disputes::params::DisputeSearch;
use crate::services::disputes::view::Dispute;
use crate::services::ledger;
use crate::services::page::{Growth, List, ListPage, in_period};

/// The fields that disputes can be sorted by.
pub const SORTS: &[&str] = &["received_at", "evidence_required_by", "amount"];

/// Returns one dispute.
///
/// Refusals, first match wins: `api_unavailable`, `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<Dispute, Error> {
    enabled(account)?;
    let row = by_token(ctx, account, token).await?;
    let charge = charge_of(ctx, &row).await?;
    let charge = views_of(ctx.store.read(), account.id(), account.now, vec![charge]).await?.remove(0);
    Ok(Dispute::new(&row, charge))
}

/// Finds the row with this token.
///
/// Refusals: `not_found`.
pub(in crate::services) async fn by_token(
    ctx: &Context,
    account: &Account,
    token: &str,
) -> Result<dispute::Model, Error> {
    by_key::find::<dispute::Entity>(ctx.store.read(), account, token).await
}

pub(super) async fn charge_of(ctx: &Context, row: &dispute::Model) -> Result<charge::Model, Error> {
    let charge = charge::Entity::at(row.account_id, row.charge_id);
    charge.one(ctx.store.read()).await?.ok_or_else(deleted)
}

/// Lists the account's disputes, newest first unless another order is requested.
///
/// Refusals, first match wins: `api_unavailable`, `invalid_resource`.
pub async fn list(
    ctx: &Context,
    account: &Account,
    params: Params<Sorting>,
) -> Result<ListPage<Dispute>, Error> {
    enabled(account)?;
    let Sorting { sort, ascending, paging } = params.valid()?;
    let rows = dispute::Entity::owned_by(account.id());
    let list = match sort {
        Some(sort) => List::sorted(account.id(), rows, column(sort), ascending),
        None => List::newest_first(account.id(), rows),
    };
    shown_page(ctx, account, list.counted(ctx, Counted::Disputes, paging).await?).await
}

/// Searches the account's disputes: the query is a part of their status, or exactly their charge's token.
///
/// Refusals, first match wins: `api_unavailable`, `invalid_resource`, `invalid_search_query_param`.
pub async fn search(
    ctx: &Context,
    account: &Account,
    params: Params<DisputeSearch>,
) -> Result<ListPage<Dispute>, Error> {
    enabled(account)?;
    let params = params.valid()?;
    if !params.search.is_searchable() {
        return Err(ErrorCode::InvalidSearchQueryParam.into());
    }
    let DisputeSearch { search, status } = params;
    let found = in_period(&Column::ReceivedAt.into_expr(), &search)
        .add_option(status.map(|status| Column::Status.eq(status)))
        .add_option(search.query.as_deref().map(matches));
    let (column, growth) = column(search.sort.unwrap_or("received_at"));
    // A dispute gets another status.
    let is_fixed = status.is_none() && search.query.is_none();
    let column = (column, if is_fixed { growth } else { Growth::Changing });
    let all = dispute::Entity::owned_by(account.id());
    let list = List::sorted(account.id(), all, column, search.ascending).part_of(Counted::Disputes, found);
    let page = list.ranged(ctx, search.paging).await?;
    shown_page(ctx, account, page).await
}

fn column(sort: &str) -> (Column, Growth) {
    match sort {
        // An arbitration may reduce it.
        "amount" => (Column::Amount, Growth::Changing),
        "evidence_required_by" => (Column::EvidenceRequiredBy, Growth::Anywhere),
        _ => (Column::ReceivedAt, Growth::AtItsEnd),
    }
}

fn matches(query: &str) -> Condition {
    let word = query.to_lowercase();
    let statuses = DisputeStatus::ALL.iter().copied().filter(|status| status.code().contains(&word));
    let by_status = Column::Status.is_in(statuses);
    let by_charge = query.parse::<ChargeToken>().ok().map(|charge| Column::ChargeId.eq(charge));
    by_charge.into_iter().fold(Condition::any().add(by_status), Condition::add)
}

/// Returns the views of charges, with the transfers that paid them out.
pub(super) async fn views_of(
    db: &impl ConnectionTrait,
    account: AccountToken,
    now: Timestamp,
    rows: Vec<charge::Model>,
) -> Result<Vec<Charge>, Error> {
    let transfers = ledger::lines::transfers_of(db, account, rows.iter().map(|row| row.id)).await?;
    let shown = |row: charge::Model| {
        let transfer = transfers.get(&row.id);
        Charge::at(now, row).paid_out_by(transfer)
    };
    Ok(rows.into_iter().map(shown).collect())
}

/// Builds a page of disputes, reading their charges in one query.
async fn shown_page(
    ctx: &Context,
    account: &Account,
    page: ListPage<dispute::Model>,
) -> Result<ListPage<Dispute>, Error> {
    let charges = page.records.iter().map(|row| row.charge_id.id());
    let charges = by_key::rows::<charge::Entity>(ctx.store.backend(), account.id(), charges);
    let charges = charges.all(ctx.store.read()).await?;
    let charges = views_of(ctx.store.read(), account.id(), account.now, charges).await?;
    let charges: HashMap<_, _> = charges.into_iter().map(|charge| (charge.token(), charge)).collect();
    let ListPage { records, count, paging } = page;
    let records = records.into_iter().map(|row| {
        let charge = charges.get(&row.charge_id).cloned().ok_or_else(deleted)?;
        Ok(Dispute::new(&row, charge))
    });
    Ok(ListPage { records: records.collect::<Result<_, Error>>()?, count, paging })
}
