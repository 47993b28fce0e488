//! Numbers for the dashboard's pictures. Each query reads one bounded range of an index.

use entity::charge::{self, COLUMN, Column};
use entity::dispute::{self, DisputeStatus};
use entity::dispute_activity::{self, ActivityKind};
use entity::logged_request;
use entity::refund::{self, RefundState};
use entity::{
    Currency, Day, FailureCode, Listed, Owned, PostingToken, TimeSpan, Timestamp, TransferToken, posting,
};
use sea_orm::sea_query::{Asterisk, Expr, ExprTrait, Query, SimpleExpr};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DerivePartialModel, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    Select,
};

use crate::error::{Error, ErrorCode};
use crate::limits::{CHARGES_PLOT_DAYS, CHARGES_PLOTTED_MAX, DISPUTES_PLOT_DAYS, REQUESTS_LOGGED};
use crate::services::charges::find::by_token;
use crate::services::context::{Account, Context};
use crate::services::subscriptions::calendar::after;
use crate::services::{plans, subscriptions};

/// The charges that banks approved on a day in a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovedDay {
    /// The day of their creation.
    pub day: Day,
    /// Their currency.
    pub currency: Currency,
    /// The number of charges.
    pub count: i64,
    /// The sum of the charges, in base units.
    pub amount: i64,
}

/// The charges that failed on a day for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedDay {
    /// The day of their creation.
    pub day: Day,
    pub failure: FailureCode,
    /// The number of charges.
    pub count: i64,
}

/// The charges of the last days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargesByDay {
    /// The first day that is counted; today is the last.
    pub first: Day,
    pub approved: Vec<ApprovedDay>,
    pub failed: Vec<FailedDay>,
}

/// Counts and sums the charges of each of the last days, by the account's clock. An account with very many charges gets fewer days:
/// those of its latest ones.
pub async fn charges(ctx: &Context, account: &Account) -> Result<ChargesByDay, Error> {
    let all = || charge::Entity::owned_by(account.id());
    let (first, approved) = by_day(ctx, account, all().filter(charge::listed()), Column::Currency).await?;
    let (first_failed, failed) =
        by_day(ctx, account, all().filter(charge::failed()), Column::Failure).await?;
    let first = Ord::max(first, first_failed);
    let approved = approved.into_iter().filter(|row| row.day >= first).filter_map(|row| {
        let currency = Currency::from_code(&row.group)?;
        Some(ApprovedDay { day: row.day, currency, count: row.count, amount: row.amount })
    });
    let failed = failed.into_iter().filter(|row| row.day >= first).filter_map(|row| {
        Some(FailedDay { day: row.day, failure: FailureCode::from_code(&row.group)?, count: row.count })
    });
    Ok(ChargesByDay { first, approved: approved.collect(), failed: failed.collect() })
}

/// The charges of a day that have the same value in a column.
struct DayGroup {
    day: Day,
    group: String,
    count: i64,
    amount: i64,
}

/// Groups the latest charges by their day and a column. Returns the first day that is complete, and the groups.
async fn by_day(
    ctx: &Context,
    account: &Account,
    charges: Select<charge::Entity>,
    group: Column,
) -> Result<(Day, Vec<DayGroup>), Error> {
    const DAY: &str = "plotted_day";
    const GROUP: &str = "plotted_group";

    let (length, first) = (TimeSpan::days(1).millis(), account.now.day().plus(1 - CHARGES_PLOT_DAYS));
    let start = Timestamp::from_millis(i64::from(first.number()) * length);
    let since: SimpleExpr = Column::CreatedAt.into_expr().sub(start.millis());
    let latest = charges
        .filter(COLUMN.created_at.gte(start))
        .order_by_desc(Column::CreatedAt)
        .limit(CHARGES_PLOTTED_MAX)
        .select_only()
        .expr_as(since.div(length).cast_as("BIGINT"), DAY)
        .expr_as(group.into_expr(), GROUP)
        .column(Column::Amount)
        .into_query();
    let grouped = Query::select()
        .columns([DAY, GROUP])
        .expr_as(Expr::col(Asterisk).count(), "n")
        .expr_as(Expr::col(Column::Amount).sum().cast_as("BIGINT"), "total")
        .from_subquery(latest, "latest")
        .group_by_columns([DAY, GROUP])
        .take();
    let mut groups = Vec::new();
    for row in ctx.store.read().query_all(&grouped).await? {
        let day = i32::try_from(row.try_get::<i64>("", DAY)?).unwrap_or(i32::MAX);
        groups.push(DayGroup {
            day: first.plus(day),
            group: row.try_get::<Option<String>>("", GROUP)?.unwrap_or_default(),
            count: row.try_get("", "n")?,
            amount: row.try_get("", "total")?,
        });
    }
    let count: i64 = groups.iter().map(|group| group.count).sum();
    let is_cut = count.unsigned_abs() >= CHARGES_PLOTTED_MAX;
    let oldest = groups.iter().map(|group| group.day).min().filter(|_| is_cut);
    Ok((oldest.map_or(first, |oldest| Ord::min(oldest.plus(1), account.now.day())), groups))
}

/// A request of the log: what it took, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, DerivePartialModel)]
#[sea_orm(entity = "logged_request::Entity")]
pub struct RequestTiming {
    /// The HTTP method.
    pub method: String,
    /// The operation's path.
    pub route: String,
    /// The HTTP status of the response.
    pub status: i32,
    /// Milliseconds.
    pub duration: i64,
}

/// Returns the timings of the account's logged requests, newest first, once those that it has made so far are written.
pub async fn timings(ctx: &Context, account: &Account) -> Result<Vec<RequestTiming>, Error> {
    ctx.memory.request_log.write(&ctx.store, Some(account.id())).await?;
    let rows = logged_request::Entity::owned_by(account.id())
        .order_by_desc(logged_request::Column::Id)
        .limit(REQUESTS_LOGGED as u64);
    Ok(rows.into_partial_model().all(ctx.store.read()).await?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, DerivePartialModel)]
#[sea_orm(entity = "dispute::Entity")]
pub struct DisputesOfStatus {
    pub status: DisputeStatus,
    /// The number of disputes.
    #[sea_orm(from_expr = "Expr::col(Asterisk).count()")]
    pub count: i64,
    /// The number of these disputes whose evidence was submitted.
    #[sea_orm(from_expr = "dispute::Column::SubmittedAt.count()")]
    pub answered: i64,
}

/// Counts the disputes that were received in the last days, by status.
pub async fn disputes(ctx: &Context, account: &Account) -> Result<Vec<DisputesOfStatus>, Error> {
    let rows = dispute::Entity::owned_by(account.id())
        .filter(dispute::COLUMN.received_at.gte(account.now - TimeSpan::days(DISPUTES_PLOT_DAYS)))
        .group_by(dispute::Column::Status);
    Ok(rows.into_partial_model().all(ctx.store.read()).await?)
}

/// A movement of a charge's money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoneyMove {
    /// The reason why it moves.
    pub kind: MoneyKind,
    /// AUD cents; negative if it is taken from the merchant.
    pub amount: i64,
    /// The record that moved it.
    pub token: String,
}

/// The reason why money moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoneyKind {
    /// The card was charged.
    Charge,
    /// Our fees.
    Fees,
    /// The platform's share.
    Platform,
    Refund,
    /// A refund failed, and its money came back.
    RefundReturn,
    /// A disputed amount was taken, or came back.
    Dispute,
    /// The fee of a dispute, or its return.
    DisputeFee,
}

/// Returns the movements of a captured charge's money as the ledger has them, and the transfer that paid it out.
///
/// Refusals: `not_found`.
pub async fn money_of_charge(
    ctx: &Context,
    account: &Account,
    token: &str,
) -> Result<(Vec<MoneyMove>, Option<TransferToken>), Error> {
    let (db, own) = (ctx.store.read(), account.id());
    let charge = by_token(db, account, token).await?;
    if charge.captured_at.is_none() {
        return Ok((Vec::new(), None));
    }
    let step = |kind, amount, token: String| MoneyMove { kind, amount, token };
    let mut moves = vec![
        step(MoneyKind::Charge, charge.settlement_amount, charge.token()),
        step(MoneyKind::Fees, -charge.fees, charge.token()),
        step(MoneyKind::Platform, -charge.platform_fees, charge.token()),
    ];
    let refunds = refund::Entity::owned_by(own).filter(refund::Column::ChargeId.eq(charge.id));
    for refund in refunds.order_by_asc(refund::Column::Id).all(db).await? {
        moves.push(step(MoneyKind::Refund, -refund.settlement_amount, refund.id.to_string()));
        if refund.state == RefundState::Failed {
            moves.push(step(MoneyKind::RefundReturn, refund.settlement_amount, refund.id.to_string()));
        }
    }
    let disputes = dispute::Entity::owned_by(own).filter(dispute::Column::ChargeId.eq(charge.id));
    for dispute in disputes.order_by_asc(dispute::Column::Id).all(db).await? {
        let entries = dispute_activity::Entity::owned_by(own)
            .filter(dispute_activity::Column::DisputeId.eq(dispute.id))
            .order_by_asc(dispute_activity::Column::Id);
        for entry in entries.all(db).await? {
            let kind = match entry.kind {
                ActivityKind::Recovery => MoneyKind::Dispute,
                ActivityKind::Fee => MoneyKind::DisputeFee,
                ActivityKind::Created | ActivityKind::Updated => continue,
            };
            moves.push(step(kind, entry.amount.unwrap_or_default(), dispute.id.to_string()));
        }
    }
    moves.retain(|step| step.amount != 0);
    // The merchant's posting has the charge's id.
    let line = posting::Entity::at(own, PostingToken::new(charge.id.id())).one(db).await?;
    Ok((moves, line.and_then(|line| line.transfer_id)))
}

/// Returns when a subscription will be billed: the next times, as far as its plan goes.
///
/// Refusals: `not_found`.
pub async fn coming_bills(
    ctx: &Context,
    account: &Account,
    token: &str,
    times: i32,
) -> Result<Vec<Timestamp>, Error> {
    let db = ctx.store.read();
    let row = subscriptions::find::by_token(db, account, token).await?.ok_or(ErrorCode::NotFound)?;
    let Some(next) = row.next_billing_at else { return Ok(Vec::new()) };
    let plan = plans::find::by_token(db, account, &row.plan_id.to_string()).await?;
    let plan = plan.ok_or(ErrorCode::NotFound)?;
    let left = if plan.intervals > 0 { plan.intervals - row.interval_number } else { times };
    let number = row.interval_number - row.anchor_number + 1;
    let following =
        (1..Ord::min(left, times)).map(|later| after(row.anchor_at, plan.interval(), number + later));
    Ok(std::iter::once(next).chain(following).collect())
}
