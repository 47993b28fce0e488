//! Finds merchants: a partner's referrals, with data of the merchants' own accounts.

use std::collections::HashMap;
use std::sync::Arc;

use entity::counter::Counted;
use entity::merchant::{self, Column};
use entity::{AccountToken, MerchantToken, Owned, Timestamp, account, charge};
use sea_orm::sea_query::{Expr, ExprTrait, Func, Query, SimpleExpr};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};

use super::transport;
use crate::config::Environment;
use crate::error::{Error, ErrorCode};
use crate::params::{Paging, Search};
use crate::services::accounts::wipe::deleted;
use crate::services::accounts::{self, ApiKeyPair};
use crate::services::by_key;
use crate::services::context::{Account, Context};
use crate::services::merchants::view::{MerchantDetail, MerchantSummary, OwnAccount, ShownKeys};
use crate::services::page::{Growth, List, ListPage, in_period};
use crate::services::{bank_accounts, search_text};

/// The columns by which merchants can be sorted.
pub const SORTS: &[&str] = &["created_at", "email", "first_name", "last_name", "name"];

/// Lists the partner's merchants, newest first.
pub async fn list(
    ctx: &Context,
    account: &Account,
    paging: Paging,
) -> Result<ListPage<MerchantSummary>, Error> {
    let merchants = List::newest_first(account.id(), merchant::Entity::owned_by(account.id()));
    summaries(ctx, merchants.counted(ctx, Counted::Merchants, paging).await?).await
}

/// Searches the partner's merchants: the query is a part of a name or of the e-mail address, or exactly the token.
///
/// Refusals: `invalid_search_query_param`.
pub async fn search(
    ctx: &Context,
    account: &Account,
    search: Search,
) -> Result<ListPage<MerchantSummary>, Error> {
    if !search.is_searchable() {
        return Err(ErrorCode::InvalidSearchQueryParam.into());
    }
    let mut rows =
        merchant::Entity::owned_by(account.id()).filter(in_period(&Column::CreatedAt.into_expr(), &search));
    if let Some(query) = &search.query {
        let words = search_text::contains(ctx.store.backend(), Column::SearchText.into_expr(), query);
        let token = query.parse::<MerchantToken>().ok().map(|token| Column::Id.eq(token));
        rows = rows.filter(token.into_iter().fold(Condition::any().add(words), Condition::add));
    }
    let column = match search.sort {
        Some("email") => Column::Email,
        Some("first_name") => Column::FirstName,
        Some("last_name") => Column::LastName,
        Some("name") => Column::BusinessName,
        _ => Column::CreatedAt,
    };
    // A merchant may get another name.
    let list = List::sorted(account.id(), rows, (column, Growth::Changing), search.ascending);
    summaries(ctx, list.ranged(ctx, search.paging).await?).await
}

/// Returns a merchant with its settings and keys.
///
///
/// Refusals: `not_found`.
pub async fn show(ctx: &Context, account: &Account, token: &str) -> Result<MerchantDetail, Error> {
    let row = by_token(ctx, account, token).await?;
    let own = own(ctx, &row).await?;
    let last_charge = last_charge(ctx.store.read(), &row).await?;
    Ok(MerchantDetail::new(&row, last_charge, &own)?)
}

/// Returns the row of a merchant.
///
///
/// Refusals: `not_found`.
pub(super) async fn by_token(
    ctx: &Context,
    account: &Account,
    token: &str,
) -> Result<merchant::Model, Error> {
    by_key::find::<merchant::Entity>(ctx.store.read(), account, token).await
}

/// Returns the current data of the merchant's own account, and its keys.
pub(super) async fn own(ctx: &Context, row: &merchant::Model) -> Result<OwnAccount, Error> {
    let (id, db) = (row.own_account(), ctx.store.read());
    let settings = account::Entity::find_by_id(id).one(db).await?.ok_or_else(deleted)?;
    let bank_account = settings.bank_account_id.ok_or_else(deleted)?;
    let bank_account = bank_accounts::load(db, id, bank_account).await?.ok_or_else(deleted)?;
    let shown = |keys: ApiKeyPair| ShownKeys::new(keys.secret.expose(), keys.publishable.expose());
    let here = shown(accounts::shown_keys(ctx, id).await?);
    let elsewhere = shown(transport::unseal_keys(ctx, row).await?.unwrap_or_default());
    let (test, live) = match ctx.environment {
        Environment::Test => (here, elsewhere),
        Environment::Live => (elsewhere, here),
    };
    Ok(OwnAccount { settings, bank_account, test, live, base_url: Arc::clone(&ctx.settings.base_url) })
}

/// Adds the time of the last charge to each merchant of a page, with one query.
async fn summaries(
    ctx: &Context,
    page: ListPage<merchant::Model>,
) -> Result<ListPage<MerchantSummary>, Error> {
    let own = page.records.iter().map(merchant::Model::own_account);
    // The charges of an account that a snapshot is being restored into are not read; nor does it hold up its partner's list.
    let own = own.filter(|account| !ctx.store.is_fenced(*account));
    let last_charges = last_charges(ctx.store.read(), own.collect()).await?;
    let last_charge = |row: &merchant::Model| last_charges.get(&row.own_account()).copied().flatten();
    Ok(page.map(|row| MerchantSummary::new(&row, last_charge(&row))))
}

/// Returns the time of a merchant's last charge.
pub(super) async fn last_charge(
    db: &impl ConnectionTrait,
    row: &merchant::Model,
) -> Result<Option<Timestamp>, Error> {
    let own = row.own_account();
    Ok(last_charges(db, vec![own]).await?.get(&own).copied().flatten())
}

/// Returns, for each account, the time of the last charge in its list of charges. Reads one index entry per account.
async fn last_charges(
    db: &impl ConnectionTrait,
    accounts: Vec<AccountToken>,
) -> Result<HashMap<AccountToken, Option<Timestamp>>, Error> {
    if accounts.is_empty() {
        return Ok(HashMap::new());
    }
    let its =
        Expr::col((charge::Entity, charge::Column::AccountId)).equals((account::Entity, account::Column::Id));
    let last = Query::select()
        .expr(Func::max(Expr::col((charge::Entity, charge::Column::CreatedAt))))
        .from(charge::Entity)
        .and_where(its)
        .and_where(charge::listed())
        .take();
    let rows = account::Entity::find()
        .filter(account::Column::Id.is_in(accounts))
        .select_only()
        .column(account::Column::Id)
        .column_as(SimpleExpr::SubQuery(None, Box::new(last.into())), "last_charge_at")
        .into_tuple::<(AccountToken, Option<Timestamp>)>();
    Ok(rows.all(db).await?.into_iter().collect())
}
