//! The sizes of broad searches. To count the matches of a word that every charge has, all charges are compared with it. So the
//! count up to a time is kept, and only later charges are counted again.
//!
//! Charges are never deleted alone, but one can be approved long after its time. Then the number of charges up to that time is
//! another, and all are counted. Only an erasure changes words, and the number of erased charges with them. A restored snapshot
//! changes the account's number of clock moves.

use entity::charge::{self, COLUMN};
use entity::counter::Counted;
use entity::{AccountToken, Owned, TimeSpan, Timestamp};
use sea_orm::sea_query::{CaseStatement, Expr, ExprTrait, SimpleExpr};
use sea_orm::{QueryFilter, QuerySelect, QueryTrait};
use store::Reader;

use crate::error::Error;
use crate::services::context::Account;
use crate::services::memory::charge_search::{Size, SizeState, Sizes};
use crate::services::page;

/// Charges of the last minute are counted each time: others of that time are still in flight.
const RECENT: TimeSpan = TimeSpan::seconds(60);

/// Returns the number of the account's charges that meet the condition of a query.
pub(super) async fn count_matches(
    sizes: &Sizes,
    db: &Reader,
    account: &Account,
    (words, condition): (&str, SimpleExpr),
    kept: Option<Size>,
) -> Result<u64, Error> {
    let recent = account.now - RECENT;
    let read = |since| Found::read(db, account.id(), since, recent, condition.clone());
    let mut size = None;
    if let Some(kept) = kept {
        let found = read(kept.before).await?;
        let holds = found.state == kept.state && found.all == kept.charges + found.old + found.recent;
        size = holds.then_some((kept, found));
    }
    let (kept, found) = if let Some(size) = size {
        size
    } else {
        let before = Timestamp::from_millis(i64::MIN);
        let found = read(before).await?;
        (Size { before, charges: 0, matching: 0, state: found.state }, found)
    };
    let size = Size {
        before: Ord::max(recent, kept.before),
        charges: kept.charges + found.old,
        matching: kept.matching + found.old_matching,
        ..kept
    };
    sizes.keep(account.id(), words, size).await;
    Ok(u64::try_from(size.matching + found.recent_matching).unwrap_or_default())
}

/// The numbers of charges since a time, and of all charges, of one moment.
struct Found {
    all: i64,
    old: i64,
    old_matching: i64,
    recent: i64,
    recent_matching: i64,
    state: SizeState,
}

impl Found {
    /// Counts the charges from `since` on, old ones and those since `recent`.
    async fn read(
        db: &Reader,
        account: AccountToken,
        since: Timestamp,
        recent: Timestamp,
        condition: SimpleExpr,
    ) -> Result<Self, Error> {
        let is_old = || COLUMN.created_at.lt(recent);
        let one = || Expr::val(1);
        let when = |condition: SimpleExpr, then: SimpleExpr| {
            SimpleExpr::Case(Box::new(CaseStatement::new().case(condition, then)))
        };
        let count = |counted: SimpleExpr| counted.count().cast_as("BIGINT");
        // Each charge is compared once.
        let matching = || when(condition.clone(), one());
        let counts = charge::Entity::owned_by(account)
            .filter(charge::listed())
            .filter(COLUMN.created_at.gte(since))
            .select_only()
            .column_as(count(when(is_old(), one())), "old")
            .column_as(count(when(is_old(), matching())), "old_matching")
            .column_as(count(when(is_old().not(), one())), "recent")
            .column_as(count(when(is_old().not(), matching())), "recent_matching");
        let mut counts = counts.into_query();
        counts.expr_as(page::counter(account, Counted::Charges), "every");
        counts.expr_as(page::counter(account, Counted::ErasedCharges), "erased");
        counts.expr_as(page::clock_moves(account), "moves");
        let row = db.one_planned(&counts).await?.ok_or_else(|| Error::internal("a count has no row"))?;
        let count = |name| row.try_get("", name);
        Ok(Self {
            all: count("every")?,
            old: count("old")?,
            old_matching: count("old_matching")?,
            recent: count("recent")?,
            recent_matching: count("recent_matching")?,
            state: SizeState { clock_moves: count("moves")?, erased: count("erased")? },
        })
    }
}
