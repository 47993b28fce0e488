//! PostgreSQL's connections.
//!
//! sqlx's pool pings each connection that is returned to it: one more round trip, and one more task, per statement. This pool
//! knows how a statement ended, so it keeps a connection whose statement was answered for the next one. Only a connection
//! whose statement was cut off returns to sqlx's pool, once it answers; one that does not answer is closed.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use base::mutex::lock;
use sea_orm::sea_query::Values;
use sea_orm::sqlx::{
    self, AssertSqlSafe, Connection, Executor, IntoArguments, PgConnection, PgPool, Postgres,
    pool::PoolConnection, postgres::PgArguments,
};
use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult,
    RuntimeErr, Statement,
};
use sea_query_sqlx::SqlxValues;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::DISABLE_TIMEOUTS;
use crate::admin::installation_info::MOVED;
use crate::connect::{
    ACQUIRE_TIMEOUT, ANSWER_TIMEOUT, LONG_ANSWER_TIMEOUT, PING_TIMEOUT, PLANNED_ANEW_AFTER, TESTED_AFTER_IDLE,
};
use crate::limits::SLOTS;
use crate::statement_observer::show;
use crate::statements::Statements;

/// Connections for statements, fewer than sqlx's pool has: long reads take theirs from there.
#[derive(Clone)]
pub struct PostgresPool(Arc<Shared>);

struct Shared {
    pool: DatabaseConnection,
    /// The totals of the store, whose commits make tables grow.
    statements: Arc<Statements>,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<IdleConnection>>,
}

/// Plans of a new database are made anew after so many commits, and then each time they have doubled.
const PLANNED_ANEW_COMMITS: u64 = 100;

/// The moment at which the statements of a connection got their plans.
#[derive(Debug, Clone, Copy)]
struct Planned {
    at: Instant,
    /// The number of commits until then.
    commits: u64,
}

impl Planned {
    fn now(statements: &Statements) -> Self {
        Self { at: Instant::now(), commits: statements.counts().commits }
    }

    /// Returns whether plans are made anew: after a while, and whenever tables may have grown to more than twice their size. While a
    /// table is empty or small, one index seems as good as another, and a plan is kept however the table grows.
    fn is_outgrown(self, now: Self) -> bool {
        now.at.duration_since(self.at) >= PLANNED_ANEW_AFTER
            || now.commits > self.commits.saturating_mul(2).saturating_add(PLANNED_ANEW_COMMITS)
    }
}

struct PooledConnection {
    connection: PoolConnection<Postgres>,
    planned: Planned,
    slot: i32,
}

struct IdleConnection {
    known: PooledConnection,
    since: Instant,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Returning them to sqlx's pool takes a task, for which it may be too late.
        lock(&self.idle).drain(..).for_each(|IdleConnection { known, .. }| drop(known.connection.leak()));
    }
}

impl PostgresPool {
    /// Creates a pool that lends at most `permits` connections at once.
    pub fn new(pool: DatabaseConnection, permits: usize, statements: Arc<Statements>) -> Self {
        let permits = Arc::new(Semaphore::new(permits));
        Self(Arc::new(Shared { pool, statements, permits, idle: Mutex::default() }))
    }

    /// Returns sqlx's pool.
    pub fn pool(&self) -> &DatabaseConnection {
        &self.0.pool
    }

    /// Returns the number of idle connections.
    pub fn idle(&self) -> usize {
        self.idle_connections().len()
    }

    fn idle_connections(&self) -> MutexGuard<'_, Vec<IdleConnection>> {
        lock(&self.0.idle)
    }

    /// Closes the idle connections: they may have failed as another one has.
    fn close_idle(&self) {
        for mut idle in std::mem::take(&mut *self.idle_connections()) {
            idle.known.connection.close_on_drop();
        }
    }

    async fn lend(&self) -> Result<ConnectionGuard, DbErr> {
        let permits = Arc::clone(&self.0.permits);
        let permit = tokio::time::timeout(ACQUIRE_TIMEOUT, permits.acquire_owned()).await;
        let permit = permit.map_err(|_| DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))?;
        let permit = permit.map_err(|_| DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed))?;
        // The connection used last: it is warm, and the others may rest.
        let last = self.idle_connections().pop();
        let known = match last {
            Some(idle) => {
                let tested = idle.tested(Planned::now(&self.0.statements)).await;
                if tested.is_none() {
                    self.close_idle();
                }
                tested
            }
            None => None,
        };
        let known = if let Some(known) = known {
            known
        } else {
            // Boxed, because it is rare and large: every statement's future would have room for it.
            let planned = Planned::now(&self.0.statements);
            let opened = PooledConnection::begin(self.0.pool.get_postgres_connection_pool(), planned);
            Box::pin(opened).await.map_err(unacquired)?
        };
        Ok(ConnectionGuard {
            known: Some(known),
            answered: true,
            in_transaction: false,
            has_no_timeouts: false,
            pool: self.clone(),
            _permit: permit,
        })
    }

    /// Returns the row of a statement that is planned for its values each time.
    pub async fn one_planned(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        // A prepared statement gets one plan for all values, after a few runs.
        self.lend().await?.query_one(query(statement).persistent(false)).await
    }

    /// Returns a transaction that begins on request; a single statement needs no BEGIN.
    pub(crate) async fn transaction(&self) -> Result<Transaction, DbErr> {
        let lent = self.lend().await?;
        Ok(Transaction { slot: lent.slot(), lent: tokio::sync::Mutex::new(lent) })
    }
}

impl PooledConnection {
    /// Takes a connection from sqlx's pool. Its slot is its number among the database's sessions of this moment: hardly any two
    /// open transactions, of whichever server, write to the same slot as long as there are no more sessions than slots.
    async fn begin(pool: &PgPool, planned: Planned) -> Result<Self, sqlx::Error> {
        const NUMBER: &str = "SELECT number FROM pg_stat_get_backend_idset() AS number \
             WHERE pg_stat_get_backend_pid(number) = pg_backend_pid()";
        let number = async |connection: &mut PgConnection| {
            sqlx::query_scalar::<_, i32>(NUMBER).fetch_optional(connection).await
        };
        let (connection, number) = probe(pool.acquire().await?, number).await?;
        let slot = number.unwrap_or_default().rem_euclid(i32::from(SLOTS));
        Ok(Self { connection, planned, slot })
    }
}

impl IdleConnection {
    /// Returns the connection, ready for use, or `None` if it is dead. The first statement notices a dead connection by failing;
    /// one that was idle for long is pinged before.
    ///
    /// Plans are discarded after a while. A plan made before a table's first ANALYZE is replaced after it, but so early that a
    /// busy connection does not see the table's statistics yet: by such a plan a search would read the whole account, for as
    /// long as the connection lives.
    async fn tested(self, now: Planned) -> Option<PooledConnection> {
        let Self { known: PooledConnection { connection, planned, slot }, since } = self;
        if planned.is_outgrown(now) {
            let discard = async |connection: &mut PgConnection| connection.execute("DISCARD PLANS").await;
            let (connection, _) = probe(connection, discard).await.ok()?;
            return Some(PooledConnection { connection, planned: now, slot });
        }
        if since.elapsed() < TESTED_AFTER_IDLE {
            return Some(PooledConnection { connection, planned, slot });
        }
        let ping = async |connection: &mut PgConnection| connection.ping().await;
        let (connection, ()) = Box::pin(probe(connection, ping)).await.ok()?;
        Some(PooledConnection { connection, planned, slot })
    }
}

/// A connection that is closed with the future that waits for its answer: sqlx's pool would wait for it for as long as it takes.
struct ProbedConnection(Option<PoolConnection<Postgres>>);

impl Drop for ProbedConnection {
    fn drop(&mut self) {
        if let Some(connection) = &mut self.0 {
            connection.close_on_drop();
        }
    }
}

/// Returns a connection and what it answers at once; closes it if it does not.
async fn probe<T>(
    connection: PoolConnection<Postgres>,
    work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
) -> Result<(PoolConnection<Postgres>, T), sqlx::Error> {
    let mut probed = ProbedConnection(Some(connection));
    let connection = probed.0.as_mut().ok_or(sqlx::Error::PoolClosed)?;
    let answer = within(PING_TIMEOUT, work(connection)).await?;
    let connection = probed.0.take().ok_or(sqlx::Error::PoolClosed)?;
    Ok((connection, answer))
}

/// Returns the database's answer. One whose machine has vanished says nothing, not even that the connection has ended.
async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    let silent = |_| Err(sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, "the database is silent")));
    tokio::time::timeout(limit, answer).await.unwrap_or_else(silent)
}

/// Returns whether the database answers in time.
pub(crate) async fn answers_within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> bool {
    within(limit, answer).await.is_ok()
}

fn unacquired(error: sqlx::Error) -> DbErr {
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return DbErr::ConnectionAcquire(ConnAcquireErr::Timeout);
    }
    DbErr::Conn(RuntimeErr::SqlxError(error.into()))
}

type Query = sqlx::query::Query<'static, Postgres, PgArguments>;

struct ConnectionGuard {
    /// Present until the guard is dropped.
    known: Option<PooledConnection>,
    /// Whether the server answered the last statement.
    answered: bool,
    in_transaction: bool,
    has_no_timeouts: bool,
    pool: PostgresPool,
    _permit: OwnedSemaphorePermit,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let Some(mut known) = self.known.take() else { return };
        if self.in_transaction {
            // Closing the connection makes the server end the transaction.
            known.connection.close_on_drop();
        } else if self.answered {
            self.pool.idle_connections().push(IdleConnection { known, since: Instant::now() });
        } else if let Ok(runtime) = Handle::try_current() {
            // Its statement was cut off. sqlx's pool would wait for the answer for as long as it takes, with one connection less.
            runtime.spawn(async move {
                if !answers_within(ANSWER_TIMEOUT, known.connection.ping()).await {
                    known.connection.close_on_drop();
                }
            });
        } else {
            drop(known.connection.leak());
        }
    }
}

impl ConnectionGuard {
    fn slot(&self) -> i32 {
        self.known.as_ref().map_or(0, |known| known.slot)
    }

    /// Runs work on the connection. Unless the work ends with the server's answer, the connection is not kept for reuse.
    async fn with<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let known = self.known.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        self.answered = false;
        let working = work(&mut known.connection);
        let limit = if self.has_no_timeouts { LONG_ANSWER_TIMEOUT } else { ANSWER_TIMEOUT };
        let done = within(limit, working).await;
        self.answered = done.as_ref().err().is_none_or(is_usable_after);
        if !self.answered {
            // Nothing more is sent on it, no ROLLBACK either.
            if let Some(mut dead) = self.known.take() {
                dead.connection.close_on_drop();
            }
            self.pool.close_idle();
        }
        done
    }

    /// Runs a text without preparing it.
    async fn run(&mut self, sql: &str) -> Result<ExecResult, DbErr> {
        let sql = AssertSqlSafe(sql.to_owned());
        let done = self.with(async |connection| connection.execute(sql).await).await;
        done.map(Into::into).map_err(unexecuted)
    }

    async fn execute(&mut self, statement: Statement) -> Result<ExecResult, DbErr> {
        let query = query(statement);
        let done = self.with(async |connection| query.execute(connection).await).await;
        done.map(Into::into).map_err(unexecuted)
    }

    async fn query_one(&mut self, query: Query) -> Result<Option<QueryResult>, DbErr> {
        let found = self.with(async |connection| query.fetch_optional(connection).await).await;
        Ok(found.map_err(unanswered)?.map(Into::into))
    }

    async fn query_all(&mut self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let query = query(statement);
        let found = self.with(async |connection| query.fetch_all(connection).await).await;
        Ok(found.map_err(unanswered)?.into_iter().map(Into::into).collect())
    }
}

/// Returns whether a connection is usable after an error: the server has answered, is not about to stop, and has not begun the
/// session read-only, which it stays when the database no longer is (25006). A database that has moved says the same to writers only.
fn is_usable_after(error: &sqlx::Error) -> bool {
    let answer = error.as_database_error();
    let lasts = |code: &str, message: &str| code.starts_with("57P") || code == "25006" && message != MOVED;
    answer.is_some_and(|answer| answer.code().is_none_or(|code| !lasts(&code, answer.message())))
}

/// The most values of a statement that is prepared once per connection. Statements with more values insert rows, and few
/// batches have the same number of rows: each number would be a text of its own, cached by the connection and by its server,
/// and hardly ever used again.
const PREPARED_VALUES_MAX: usize = 256;

fn query(statement: Statement) -> Query {
    show(&statement);
    let Statement { sql, values, .. } = statement;
    let values = values.unwrap_or(Values(Vec::new()));
    let is_kept = values.0.len() <= PREPARED_VALUES_MAX;
    sqlx::query_with(AssertSqlSafe(sql), SqlxValues(values).into_arguments()).persistent(is_kept)
}

fn unexecuted(error: sqlx::Error) -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(error.into()))
}

fn unanswered(error: sqlx::Error) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(error.into()))
}

#[async_trait]
impl ConnectionTrait for PostgresPool {
    fn get_database_backend(&self) -> DbBackend {
        DbBackend::Postgres
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.lend().await?.execute(statement).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.lend().await?.run(sql).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.lend().await?.query_one(query(statement)).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.lend().await?.query_all(statement).await
    }
}

/// An open transaction, rolled back when it is dropped.
pub(crate) struct Transaction {
    lent: tokio::sync::Mutex<ConnectionGuard>,
    /// The slot of its counts and credits.
    pub slot: i32,
}

impl Transaction {
    /// Returns whether BEGIN was sent; before, each statement is a transaction of its own.
    pub fn has_begun(&mut self) -> bool {
        self.lent.get_mut().in_transaction
    }

    pub async fn begin(&mut self) -> Result<(), DbErr> {
        let lent = self.lent.get_mut();
        lent.in_transaction = true;
        lent.run("BEGIN").await.map(drop)
    }

    /// Returns the first row of a statement that is kept prepared.
    pub async fn query_one(
        &self,
        sql: Arc<str>,
        arguments: PgArguments,
    ) -> Result<Option<QueryResult>, DbErr> {
        self.lent.lock().await.query_one(sqlx::query_with(AssertSqlSafe(sql), arguments)).await
    }

    pub async fn commit(self) -> Result<(), DbErr> {
        self.end("COMMIT").await
    }

    pub async fn rollback(self) -> Result<(), DbErr> {
        self.end("ROLLBACK").await
    }

    async fn end(self, how: &str) -> Result<(), DbErr> {
        let mut lent = self.lent.into_inner();
        lent.run(how).await?;
        lent.in_transaction = false;
        Ok(())
    }
}

#[async_trait]
impl ConnectionTrait for Transaction {
    fn get_database_backend(&self) -> DbBackend {
        DbBackend::Postgres
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.lent.lock().await.execute(statement).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        let mut lent = self.lent.lock().await;
        lent.has_no_timeouts |= sql == DISABLE_TIMEOUTS;
        lent.run(sql).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.lent.lock().await.query_one(query(statement)).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.lent.lock().await.query_all(statement).await
    }
}
