//! Lists the audit trail.

use entity::{AccountToken, Timestamp, audit_entry, key_use};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait};

use crate::Store;
use crate::error::Error;
use crate::params::Paging;
use crate::services::audit::view::AuditRecord;

#[derive(Debug, Clone, Copy)]
pub struct AuditFilter {
    /// Only entries about this account.
    pub account: Option<AccountToken>,
    /// From this instant on, by the wall clock.
    pub since: Option<Timestamp>,
    /// Before this instant.
    pub until: Option<Timestamp>,
    pub paging: Paging,
}

/// Returns a page of the trail, newest first: operator actions by their time, key uses by the day's last one.
///
/// Reads both tables only as deep as the page lies.
pub async fn list(store: &Store, filter: AuditFilter) -> Result<Vec<AuditRecord>, Error> {
    let AuditFilter { account, since, until, paging } = filter;
    let deep = paging.offset().saturating_add(paging.per_page);
    let acts = {
        use audit_entry::{COLUMN, Column};
        audit_entry::Entity::find()
            .apply_if(account, |acts, account| acts.filter(Column::Account.eq(account)))
            .apply_if(since, |acts, since| acts.filter(COLUMN.recorded_at.gte(since)))
            .apply_if(until, |acts, until| acts.filter(COLUMN.recorded_at.lt(until)))
            .order_by_desc(Column::RecordedAt)
            .order_by_desc(Column::Id)
            .limit(deep)
    };
    let uses = {
        use key_use::{COLUMN, Column};
        key_use::Entity::find()
            .apply_if(account, |uses, account| uses.filter(Column::AccountId.eq(account)))
            .apply_if(since, |uses, since| uses.filter(COLUMN.last_at.gte(since)))
            .apply_if(until, |uses, until| uses.filter(COLUMN.last_at.lt(until)))
            .order_by_desc(Column::LastAt)
            .order_by_asc(Column::Hash)
            .order_by_asc(Column::Address)
            .limit(deep)
    };
    let acts = acts.all(store.read()).await?.into_iter().map(|act| (act.recorded_at, AuditRecord::from(act)));
    let uses = uses.all(store.read()).await?.into_iter().map(|uses| (uses.last_at, AuditRecord::from(uses)));
    let mut all: Vec<_> = acts.chain(uses).collect();
    all.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let before = usize::try_from(paging.offset()).unwrap_or(usize::MAX);
    let wanted = usize::try_from(paging.per_page).unwrap_or(usize::MAX);
    Ok(all.into_iter().map(|(_, record)| record).skip(before).take(wanted).collect())
}
