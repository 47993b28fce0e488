//! The registry of all due work: for workers of every server, and for moved clocks. Polling takes no lock; each item is
//! claimed by compare-and-set on its own row.

use std::collections::HashMap;
use std::time::Duration;

use base::trace::{self, Span};
use entity::{AccountToken, Owned, Timestamp, account};
use futures::future::{BoxFuture, join_all, try_join_all};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use sea_orm::sea_query::{Expr, Query, SelectStatement, UnionType};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder, QuerySelect,
    QueryTrait, Select,
};
use tokio::time::{Instant, sleep};

use crate::error::Error;
use crate::limits::{
    DUE_BATCH, DUE_FAILED_REST, DUE_IN_FLIGHT_MAX, DUE_IN_FLIGHT_OF_AN_ACCOUNT_MAX, DUE_POLL_PAUSE, DUE_REST,
    DUE_STEPPED_OVER_MAX, TIDY_REST,
};
use crate::services::accounts::{keys, wipe};
use crate::services::context::{Account, Context, Ctx};
use crate::services::data_keys::rotate;
use crate::services::due_work::work_time::WorkTime;
use crate::services::due_work::{ClockMoveRange, DueRow, DueWork, WorkResult, clocks};
use crate::services::wallets::payloads;
use crate::services::{
    audit, bank_accounts, card_testing, cards, disputes, erasures, files, idempotency, key_sessions,
    payments, people, plans, refunds, retention, settlement, snapshots, subscriptions, three_d_secure,
    transfers, webhook_endpoints, webhooks,
};

/// The metric of failed due work, by kind.
pub const FAILURES: &str = "card_payments_due_work_failures_total";

#[derive(Clone, Copy)]
pub struct DueWorkKind {
    /// The name, for metrics.
    pub name: &'static str,
    /// How long a worker rests after a poll that has found nothing, or has failed.
    pub rest: Duration,
    run: for<'a> fn(&'a Ctx) -> WorkFuture<'a, usize>,
    backlog: for<'a> fn(&'a Context) -> WorkFuture<'a, u64>,
    /// `None` if the kind does not depend on the accounts' clocks.
    ahead: Option<UpcomingWork>,
}

type WorkFuture<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// Finds the due work ahead of a moved clock.
#[derive(Clone, Copy)]
struct UpcomingWork {
    /// Selects the instant of the first item.
    at: fn(ClockMoveRange) -> SelectStatement,
    /// Reads the first item.
    first: for<'a> fn(&'a Context, ClockMoveRange) -> WorkFuture<'a, Option<Item>>,
}

/// Makes a kind that belongs to no account, from its name, the time that it goes by, the function that selects its due rows, and
/// its verb.
macro_rules! of_no_account {
    ($name:literal, $time:path, $due:path, $work:path) => {
        DueWorkKind {
            name: $name,
            rest: TIDY_REST,
            run: |ctx| each(ctx, $name, $due($time(ctx)), |row| $work(ctx, row)).boxed(),
            backlog: |ctx| count(ctx, [$due($time(ctx))]).boxed(),
            ahead: None,
        }
    };
}

/// For work that somebody has asked for.
fn now(ctx: &Context) -> Timestamp {
    ctx.clock.now()
}

/// For work that destroys by age.
fn earliest(ctx: &Context) -> Timestamp {
    ctx.trusted.earliest()
}

/// Every kind, in the order in which a moved clock does work due at the same instant (`docs/decisions.md`, 295).
pub static KINDS: &[DueWorkKind] = &[
    UNSETTLED_CHARGES,
    DueWorkKind::of_accounts::<subscriptions::recover::SubscriptionRecoveryWork>(),
    DueWorkKind::of_accounts::<cards::CardExpiryWork>(),
    DueWorkKind::of_accounts::<three_d_secure::expire::SessionExpiryWork>(),
    // In this order: a subscription billed late may end at once.
    DueWorkKind::of_accounts::<subscriptions::bill::BillingWork>(),
    DueWorkKind::of_accounts::<subscriptions::ending::SubscriptionEndWork>(),
    DueWorkKind::of_accounts::<bank_accounts::BankAccountExpiryWork>(),
    // In this order: a refund submitted late may complete at once.
    DueWorkKind::of_accounts::<refunds::submit::RefundSubmissionWork>(),
    DueWorkKind::of_accounts::<refunds::complete::RefundCompletionWork>(),
    DueWorkKind::of_accounts::<disputes::arrival::SimulatedDisputeWork>(),
    DueWorkKind::of_accounts::<disputes::transitions::DisputeExpiryWork>(),
    DueWorkKind::of_accounts::<transfers::returns::TransferReturnWork>(),
    // After all work that moves money at the same instant.
    DueWorkKind::of_accounts::<settlement::SettlementWork>(),
    WEBHOOKS,
    DueWorkKind::of_accounts::<webhook_endpoints::keys::WebhookKeyEndWork>(),
    DueWorkKind::of_accounts::<retention::RetentionWork>(),
    // After all that may still show the customer at the same instant.
    DueWorkKind::of_accounts::<erasures::ErasureWork>(),
    of_no_account!("stale_idempotency_key", idempotency::long_ago, idempotency::due, idempotency::forget),
    of_no_account!("stale_wallet_payload", earliest, payloads::due, payloads::forget),
    of_no_account!("ended_api_key", earliest, keys::select_ended, keys::forget),
    of_no_account!("deleted_plan", now, plans::delete::due, plans::delete::sweep),
    of_no_account!("deleted_account", now, wipe::due, wipe::wipe),
    of_no_account!("expired_snapshot", earliest, snapshots::remove::due, snapshots::remove::expire),
    of_no_account!("stray_blob", now, files::stray::due, files::stray::sweep),
    of_no_account!("retired_data_key", earliest, rotate::due, rotate::retire),
    of_no_account!("old_audit_entry", earliest, audit::old, audit::forget),
    of_no_account!("ended_person_session", earliest, people::ended, people::forget),
    of_no_account!("ended_key_session", earliest, key_sessions::ended, key_sessions::forget),
    of_no_account!("old_key_use", earliest, audit::old_key_uses, audit::forget_key_use),
    of_no_account!("old_card_attack", earliest, card_testing::old, card_testing::forget),
];

/// Charges with calls of unknown outcome.
pub const UNSETTLED_CHARGES: DueWorkKind =
    DueWorkKind::of_accounts::<payments::recovery::ChargeRecoveryWork>();

/// Webhooks to deliver. A moved clock sends none: it makes them due.
pub const WEBHOOKS: DueWorkKind =
    DueWorkKind { name: "webhook", rest: DUE_REST, run: deliver, backlog: waiting, ahead: None };

impl DueWorkKind {
    const fn of_accounts<W: DueWork>() -> Self {
        let ahead = UpcomingWork { at: first_at::<W>, first: first_of::<W> };
        Self { name: W::NAME, rest: W::REST, run: run::<W>, backlog: backlog::<W>, ahead: Some(ahead) }
    }

    /// Does the due work. Returns the number of items; more may be due by now.
    pub async fn run(&self, ctx: &Ctx) -> Result<usize, Error> {
        (self.run)(ctx).await
    }

    /// Returns whether a moved clock does this work.
    pub const fn is_of_accounts(&self) -> bool {
        self.ahead.is_some()
    }

    /// Returns the number of due items.
    pub async fn backlog(&self, ctx: &Context) -> Result<u64, Error> {
        (self.backlog)(ctx).await
    }
}

/// An item of work that a moved clock does.
pub struct Item {
    /// The kind's name.
    pub kind: &'static str,
    pub subject: DueRow,
    work: Work,
}

type Work = Box<dyn for<'a> FnOnce(&'a Context, &'a WorkTime) -> WorkFuture<'a, WorkResult> + Send>;

impl Item {
    pub async fn work(self, ctx: &Context, time: &WorkTime) -> Result<WorkResult, Error> {
        (self.work)(ctx, time).await
    }
}

/// Returns the first item that a moved clock reaches; of several at one instant, the one whose kind is listed first.
pub async fn first(ctx: &Context, range: ClockMoveRange) -> Result<Option<Item>, Error> {
    // One statement for the instants of all kinds, regardless of their number.
    let kinds: Vec<_> = KINDS.iter().filter_map(|kind| kind.ahead).collect();
    let mut firsts = kinds.iter().zip(0_i64..).map(|(kind, place)| {
        let first = (kind.at)(range);
        Query::select()
            .expr(Expr::cust(format!("CAST({place} AS BIGINT)")))
            .column(AT)
            .from_subquery(first, "first")
            .take()
    });
    let Some(mut all) = firsts.next() else { return Ok(None) };
    all.unions(firsts.map(|first| (UnionType::All, first)));
    loop {
        let found = ctx.store.read().query_all(&all).await?;
        let places =
            found.iter().map(|row| Ok((row.try_get_by_index::<i64>(1)?, row.try_get_by_index::<i64>(0)?)));
        let first = places.collect::<Result<Vec<_>, DbErr>>()?.into_iter().min();
        let kind = first.and_then(|(_, place)| kinds.get(usize::try_from(place).ok()?));
        let Some(kind) = kind else { return Ok(None) };
        // Another worker may have done it between the two reads, and the next item may be of another kind.
        if let Some(item) = (kind.first)(ctx, range).await? {
            return Ok(Some(item));
        }
    }
}

const AT: &str = "due_at";

fn first_at<W: DueWork>(range: ClockMoveRange) -> SelectStatement {
    ahead::<W>(range).select_only().column_as(W::AT, AT).limit(1).into_query()
}

fn ahead<W: DueWork>(range: ClockMoveRange) -> Select<W::Entity> {
    W::of_account(&range).filter(W::AT.lte(range.to)).order_by_asc(W::AT).order_by_asc(W::ID)
}

fn first_of<W: DueWork>(ctx: &Context, range: ClockMoveRange) -> WorkFuture<'_, Option<Item>> {
    async move {
        let row = ahead::<W>(range).one(ctx.store.read()).await?;
        Ok(row.map(|row| Item {
            kind: W::NAME,
            subject: W::subject(&row),
            work: Box::new(move |ctx, time| W::work(ctx, time, row).boxed()),
        }))
    }
    .boxed()
}

/// Does due work, each item in its own task, up to a limit at a time, and of one account up to a part of it. A slow item does not block
/// others: polling goes on meanwhile. A failed item does not stop the rest and is tried again in the next run, or after a while if this
/// one lasts.
fn run<W: DueWork>(ctx: &Ctx) -> WorkFuture<'_, usize> {
    async move {
        // Items in flight, and how long failed ones rest.
        let (mut in_flight, mut tokens) = (FuturesUnordered::new(), HashMap::new());
        let mut in_flight_of: HashMap<AccountToken, usize> = HashMap::new();
        let (mut found, mut worked, mut failures) = (0, 0, Failures::new(W::NAME));
        loop {
            // A process that is stopping starts no more work.
            let rows = if ctx.tasks.is_closed() {
                Ok(Vec::new())
            } else {
                // Beyond items that are still due because they are in flight or have failed.
                let known = u64::try_from(tokens.len()).unwrap_or(u64::MAX).min(DUE_STEPPED_OVER_MAX);
                let busiest =
                    in_flight_of.iter().find(|(_, count)| **count >= DUE_IN_FLIGHT_OF_AN_ACCOUNT_MAX);
                poll::<W>(ctx, known, busiest.map(|(account, _)| *account)).await
            };
            let rows = rows.unwrap_or_else(|error| {
                failures.add(ctx, error);
                Vec::new()
            });
            let before = found;
            tokens.retain(|_, rests_until: &mut Option<Instant>| {
                rests_until.is_none_or(|until| until > Instant::now())
            });
            for (row, account) in rows {
                let DueRow { account: owner, token, .. } = W::subject(&row);
                let of_owner = in_flight_of.get(&owner).copied().unwrap_or_default();
                if in_flight.len() < DUE_IN_FLIGHT_MAX
                    && of_owner < DUE_IN_FLIGHT_OF_AN_ACCOUNT_MAX
                    && !tokens.contains_key(&token)
                {
                    tokens.insert(token.clone(), None);
                    in_flight_of.insert(owner, of_owner + 1);
                    found += 1;
                    in_flight.push(begin::<W>(ctx, row, account).map(move |done| (owner, token, done)));
                }
            }
            if in_flight.is_empty() {
                return failures.or(worked);
            }
            // At the limit, polls again when half of the tasks are done; otherwise at the workers' poll interval.
            let left = if found > before { in_flight.len().saturating_sub(DUE_IN_FLIGHT_MAX / 2) } else { 0 };
            let pause = sleep(DUE_POLL_PAUSE);
            tokio::pin!(pause);
            while in_flight.len() > left {
                let done = tokio::select! {
                    done = in_flight.next() => done,
                    () = &mut pause => None,
                };
                let Some((owner, token, done)) = done else { break };
                in_flight_of.entry(owner).and_modify(|count| *count -= 1);
                in_flight_of.retain(|_, count| *count > 0);
                match done {
                    // The row may be due again; one without an answer is so after a pause of its own.
                    Ok(
                        WorkResult::Event(_)
                        | WorkResult::Silent
                        | WorkResult::Unanswered
                        | WorkResult::Unsubmitted(_),
                    ) => {
                        worked += 1;
                        tokens.remove(&token);
                        continue;
                    }
                    Ok(WorkResult::Skipped) => worked += 1,
                    Err(error) if wipe::is_deleted(&error) => {}
                    Err(error) => failures.add(ctx, error),
                }
                tokens.insert(token, Some(Instant::now() + DUE_FAILED_REST));
            }
        }
    }
    .boxed()
}

/// Reads due rows and their accounts: a batch beyond so many, without those of an account that has enough in flight.
async fn poll<W: DueWork>(
    ctx: &Context,
    known: u64,
    busiest: Option<AccountToken>,
) -> Result<Vec<(<W::Entity as EntityTrait>::Model, Option<Account>)>, Error> {
    let wall = W::wall(ctx);
    let mut rows = Vec::new();
    // No statement may name an account behind a fence.
    let busiest = busiest.filter(|account| !ctx.store.is_fenced(*account));
    for due in clocks::visible_clocks(ctx, W::due(wall)) {
        let due = due.apply_if(busiest, |due, busiest| due.filter(<W::Entity as Owned>::ACCOUNT.ne(busiest)));
        let due = ctx.store.unfenced(due);
        rows.extend(due.limit(DUE_BATCH + known).all(ctx.store.read()).await?);
    }
    rows.retain(|row| !ctx.store.is_fenced(W::subject(row).account));
    let accounts = accounts(ctx, rows.iter().map(|row| W::subject(row).account)).await?;
    let of =
        |row: &_| accounts.get(&W::subject(row).account).cloned().map(|account| Account::new(account, wall));
    Ok(rows.into_iter().map(|row| (of(&row), row)).map(|(account, row)| (row, account)).collect())
}

async fn begin<W: DueWork>(
    ctx: &Ctx,
    row: <W::Entity as EntityTrait>::Model,
    account: Option<Account>,
) -> Result<WorkResult, Error> {
    let time = WorkTime::on_running_clock(account.ok_or_else(wipe::deleted)?);
    // It dates what it does, and takes money for available, by the clock that found it due.
    let time = if W::IS_FINAL || W::DESTROYS { time.by(W::wall) } else { time };
    let task = Ctx::clone(ctx);
    let mut span = Span::begin("due work", trace::SpanKind::Internal);
    span.set_attribute("card_payments.due_work", W::NAME);
    span.set_attribute("card_payments.account", time.account().id());
    ctx.in_own_task(async move { span.run(W::work(&task, &time, row)).await }).await
}

async fn accounts(
    ctx: &Context,
    tokens: impl Iterator<Item = AccountToken>,
) -> Result<HashMap<AccountToken, account::Model>, Error> {
    let mut tokens: Vec<_> = tokens.collect();
    tokens.sort_unstable_by_key(|token| token.id());
    tokens.dedup();
    if tokens.is_empty() {
        return Ok(HashMap::new());
    }
    let rows =
        account::Entity::find().filter(account::Column::Id.is_in(tokens)).all(ctx.store.read()).await?;
    Ok(rows.into_iter().map(|row| (row.id, row)).collect())
}

/// Does due work that belongs to no account.
async fn each<E, W>(
    ctx: &Context,
    kind: &'static str,
    due: Select<E>,
    work: impl Fn(E::Model) -> W,
) -> Result<usize, Error>
where
    E: EntityTrait,
    W: Future<Output = Result<(), Error>>,
{
    let mut failures = Failures::new(kind);
    let rows = due.limit(DUE_BATCH).all(ctx.store.read()).await.unwrap_or_else(|error| {
        failures.add(ctx, error.into());
        Vec::new()
    });
    let found = rows.len();
    for done in join_all(rows.into_iter().map(work)).await {
        done.unwrap_or_else(|error| failures.add(ctx, error));
    }
    failures.or(found)
}

/// The failures of a run. All are counted, and one is logged now and then: a cause mostly fails many items, and a run may last.
struct Failures {
    kind: &'static str,
    first: Option<Error>,
    logged_at: Option<Instant>,
}

impl Failures {
    const fn new(kind: &'static str) -> Self {
        Self { kind, first: None, logged_at: None }
    }

    fn add(&mut self, ctx: &Context, error: Error) {
        // The store reports a missing file once, so not each kind of work does.
        if ctx.store.is_writable() {
            metrics::counter!(FAILURES, "kind" => self.kind).increment(1);
            if self.logged_at.is_none_or(|at| at.elapsed() >= DUE_FAILED_REST) {
                tracing::error!(kind = self.kind, %error, "due work failed");
                self.logged_at = Some(Instant::now());
            }
        }
        self.first.get_or_insert(error);
    }

    /// Returns the first failure; without one, the number of items.
    fn or(self, items: usize) -> Result<usize, Error> {
        self.first.map_or(Ok(items), Err)
    }
}

fn backlog<W: DueWork>(ctx: &Context) -> WorkFuture<'_, u64> {
    count(ctx, clocks::visible_clocks(ctx, W::due(W::wall(ctx)))).boxed()
}

async fn count<E>(ctx: &Context, due: impl IntoIterator<Item = Select<E>>) -> Result<u64, Error>
where
    E: EntityTrait<Model: Send + Sync>,
{
    let counts = due.into_iter().map(|due| due.count(ctx.store.read()));
    Ok(try_join_all(counts).await?.into_iter().sum())
}

/// Delivers all due webhooks at once, for processes without a webhook dispatcher.
fn deliver(ctx: &Ctx) -> WorkFuture<'_, usize> {
    async move {
        let leased = webhooks::lease(ctx, webhooks::due(ctx, &[]).await?).await?;
        let found = leased.len();
        let outcomes = try_join_all(leased.into_iter().map(|webhook| webhooks::send(ctx, webhook))).await?;
        webhooks::record(ctx, outcomes.into_iter().flatten().collect()).await?;
        Ok(found)
    }
    .boxed()
}

fn waiting(ctx: &Context) -> WorkFuture<'_, u64> {
    webhooks::waiting(ctx).boxed()
}
