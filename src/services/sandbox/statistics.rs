//! Numbers for the dashboard's pictures. Each query reads one bounded range of an index.

use entity::charge::{self, Column};
use entity::dispute::{self, DisputeStatus};
use entity::dispute_activity::{self, ActivityKind};
use entity::logged_request;
use entity::refund::{self, RefundState};
use entity::{
    Currency, Day, FailureCode, Listed, Owned, PostingToken, TimeSpan, Timestamp, TransferToken, posting,
};
use sea_orm::sea_query::{Asterisk, Expr, ExprTrait, SimpleExpr};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect, Select};

use crate::error::{Error, ErrorCode};
use crate::limits::{CHARGES_PLOT_DAYS, DISPUTES_PLOT_DAYS, REQUESTS_LOGGED};
use crate::services::charges::find::by_token;
use crate::services::context::{Account, Context};
use crate::services::subscriptions::calendar::after;
use crate::services::{plans, subscriptions};

/// What banks approved on a day in a currency.
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

/// What failed on a day for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailedDay {
    /// The day of their creation.
    pub day: Day,
    /// The reason.
    pub failure: FailureCode,
    /// The number of charges.
    pub count: i64,
}

/// Returns the first of the days of [`approved`] and [`failed`], of which today is the last.
pub fn first_day(account: &Account) -> Day {
    account.now.day().plus(1 - CHARGES_PLOT_DAYS)
}

/// Sums the approved charges of each of the last days, by the account's clock.
pub async fn approved(ctx: &Context, account: &Account) -> Result<Vec<ApprovedDay>, Error> {
    let rows = by_day(account, charge::Entity::owned_by(account.id()).filter(charge::listed()))
        .column(Column::Currency)
        .column_as(Expr::col(Asterisk).count(), "n")
        .column_as(Expr::expr(Column::Amount.into_expr().sum()).cast_as("BIGINT"), "amount")
        .group_by(Column::Currency);
    let rows: Vec<(i64, Currency, i64, i64)> = rows.into_tuple().all(ctx.store.read()).await?;
    let approved =
        |(day, currency, count, amount)| ApprovedDay { day: day_of(account, day), currency, count, amount };
    Ok(rows.into_iter().map(approved).collect())
}

/// Counts the failed charges of each of the last days, by the account's clock.
pub async fn failed(ctx: &Context, account: &Account) -> Result<Vec<FailedDay>, Error> {
    let rows = by_day(account, charge::Entity::owned_by(account.id()).filter(charge::failed()))
        .column(Column::Failure)
        .column_as(Expr::col(Asterisk).count(), "n")
        .group_by(Column::Failure);
    let rows: Vec<(i64, Option<FailureCode>, i64)> = rows.into_tuple().all(ctx.store.read()).await?;
    let failed = |(day, failure, count): (i64, Option<FailureCode>, i64)| {
        Some(FailedDay { day: day_of(account, day), failure: failure?, count })
    };
    Ok(rows.into_iter().filter_map(failed).collect())
}

const DAY: &str = "plotted_day";

/// Groups charges by the number of their day, counted from the first one.
fn by_day(account: &Account, charges: Select<charge::Entity>) -> Select<charge::Entity> {
    let day = TimeSpan::days(1).millis();
    let start = Timestamp::from_millis(i64::from(first_day(account).number()) * day);
    let since: SimpleExpr = Column::CreatedAt.into_expr().sub(start.millis());
    charges
        .filter(Column::CreatedAt.gte(start))
        .select_only()
        .expr_as(since.div(day).cast_as("BIGINT"), DAY)
        .group_by(Expr::col(DAY))
}

fn day_of(account: &Account, number: i64) -> Day {
    first_day(account).plus(i32::try_from(number).unwrap_or(i32::MAX))
}

/// A request of the log: what it took, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Returns the timings of the account's logged requests, newest first.
pub async fn timings(ctx: &Context, account: &Account) -> Result<Vec<RequestTiming>, Error> {
    use logged_request::Column::{Duration, Id, Method, Route, Status};
    let rows = logged_request::Entity::owned_by(account.id())
        .order_by_desc(Id)
        .limit(REQUESTS_LOGGED as u64)
        .select_only()
        .columns([Method, Route, Status, Duration]);
    let rows: Vec<(String, String, i32, i64)> = rows.into_tuple().all(ctx.store.read()).await?;
    let timing = |(method, route, status, duration)| RequestTiming { method, route, status, duration };
    Ok(rows.into_iter().map(timing).collect())
}

/// Disputes of one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisputesOfStatus {
    /// The status.
    pub status: DisputeStatus,
    /// The number of disputes.
    pub count: i64,
    /// How many of them have evidence that was submitted.
    pub answered: i64,
}

/// Counts the disputes that were received in the last days, by status.
pub async fn disputes(ctx: &Context, account: &Account) -> Result<Vec<DisputesOfStatus>, Error> {
    use dispute::Column::{ReceivedAt, Status, SubmittedAt};
    let rows = dispute::Entity::owned_by(account.id())
        .filter(ReceivedAt.gte(account.now - TimeSpan::days(DISPUTES_PLOT_DAYS)))
        .select_only()
        .column(Status)
        .column_as(Expr::col(Asterisk).count(), "n")
        .column_as(SubmittedAt.count(), "answered")
        .group_by(Status);
    let rows: Vec<(DisputeStatus, i64, i64)> = rows.into_tuple().all(ctx.store.read()).await?;
    Ok(rows
        .into_iter()
        .map(|(status, count, answered)| DisputesOfStatus { status, count, answered })
        .collect())
}

/// A movement of a charge's money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoneyMove {
    /// Why it moves.
    pub kind: MoneyKind,
    /// AUD cents; negative if it is taken from the merchant.
    pub amount: i64,
    /// The record that moved it.
    pub token: String,
}

/// Why money moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoneyKind {
    /// The card was charged.
    Charge,
    /// Our fees.
    Fees,
    /// The platform's share.
    Platform,
    /// A refund.
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
    let moved = |kind, amount, token: String| MoneyMove { kind, amount, token };
    let mut moves = vec![
        moved(MoneyKind::Charge, charge.settlement_amount, charge.token()),
        moved(MoneyKind::Fees, -charge.fees, charge.token()),
        moved(MoneyKind::Platform, -charge.platform_fees, charge.token()),
    ];
    let refunds = refund::Entity::owned_by(own).filter(refund::Column::ChargeId.eq(charge.id));
    for refund in refunds.order_by_asc(refund::Column::Id).all(db).await? {
        moves.push(moved(MoneyKind::Refund, -refund.settlement_amount, refund.id.to_string()));
        if refund.state == RefundState::Failed {
            moves.push(moved(MoneyKind::RefundReturn, refund.settlement_amount, refund.id.to_string()));
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
            moves.push(moved(kind, entry.amount.unwrap_or_default(), dispute.id.to_string()));
        }
    }
    moves.retain(|moved| moved.amount != 0);
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
