//! PostgreSQL's connections.
//!
//! The library's pool asks each connection that comes back to it whether it is still sound: one more round trip, and one
//! more task, for each statement. Here is known how a statement ended, so a connection whose statement was answered is
//! put aside for the next one. Only what was cut off goes back to the pool, which looks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use sea_orm::sea_query::Values;
use sea_orm::sqlx::{
    self, AssertSqlSafe, Connection, Executor, PgConnection, Postgres, pool::PoolConnection,
};
use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult,
    RuntimeErr, Statement,
};
use sea_query_sqlx::SqlxValues;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connect::{ACQUIRE_TIMEOUT, PLANNED_ANEW_AFTER, TESTED_AFTER_IDLE};
use super::watched::show;

/// Connections for statements, fewer than the pool has: long looks take theirs from the pool.
#[derive(Clone)]
pub struct Connections(Arc<Shared>);

struct Shared {
    pool: DatabaseConnection,
    places: Arc<Semaphore>,
    aside: Mutex<Vec<Aside>>,
}

struct Aside {
    connection: PoolConnection<Postgres>,
    since: Instant,
    /// Since when its statements have had their plans.
    planned: Instant,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let aside = self.aside.get_mut().unwrap_or_else(PoisonError::into_inner);
        // They would go back to the pool by a task, for which it may be too late.
        aside.drain(..).for_each(|Aside { connection, .. }| drop(connection.leak()));
    }
}

impl Connections {
    /// At most so many at once.
    pub fn new(pool: DatabaseConnection, places: usize) -> Self {
        let places = Arc::new(Semaphore::new(places));
        Self(Arc::new(Shared { pool, places, aside: Mutex::default() }))
    }

    /// The library's pool.
    pub fn pool(&self) -> &DatabaseConnection {
        &self.0.pool
    }

    /// How many are put aside.
    pub fn idle(&self) -> usize {
        self.aside().len()
    }

    fn aside(&self) -> MutexGuard<'_, Vec<Aside>> {
        self.0.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn lend(&self) -> Result<Lent, DbErr> {
        let places = Arc::clone(&self.0.places);
        let place = tokio::time::timeout(ACQUIRE_TIMEOUT, places.acquire_owned()).await;
        let place = place.map_err(|_| DbErr::ConnectionAcquire(ConnAcquireErr::Timeout))?;
        let place = place.map_err(|_| DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed))?;
        // The one that was used last: it is warm, and the others may rest.
        let last = self.aside().pop();
        let connection = match last {
            Some(aside) => aside.tested().await,
            None => None,
        };
        let (connection, planned) = if let Some(connection) = connection {
            connection
        } else {
            let pool = self.0.pool.get_postgres_connection_pool();
            (pool.acquire().await.map_err(unacquired)?, Instant::now())
        };
        Ok(Lent {
            connection: Some(connection),
            planned,
            answered: true,
            in_transaction: false,
            home: self.clone(),
            _place: place,
        })
    }

    /// Begin a transaction.
    pub(super) async fn begin(&self) -> Result<Transaction, DbErr> {
        let mut lent = self.lend().await?;
        lent.in_transaction = true;
        lent.run("BEGIN").await?;
        Ok(Transaction(tokio::sync::Mutex::new(lent)))
    }
}

impl Aside {
    /// The connection, and since when its plans are what they are. A dead one is noticed by its first statement, which fails;
    /// one that has rested for long is asked before.
    ///
    /// Plans are made anew after a while. What was planned before a table was analysed for the first time is planned again when
    /// it is, but so early that a busy connection still knows nothing of the table: by such a plan a search would read
    /// the whole account, for as long as the connection lives.
    async fn tested(self) -> Option<(PoolConnection<Postgres>, Instant)> {
        let Self { mut connection, since, planned } = self;
        if planned.elapsed() >= PLANNED_ANEW_AFTER {
            connection.execute("DISCARD PLANS").await.ok()?;
            return Some((connection, Instant::now()));
        }
        if since.elapsed() >= TESTED_AFTER_IDLE {
            connection.ping().await.ok()?;
        }
        Some((connection, planned))
    }
}

fn unacquired(error: sqlx::Error) -> DbErr {
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return DbErr::ConnectionAcquire(ConnAcquireErr::Timeout);
    }
    DbErr::Conn(RuntimeErr::SqlxError(error.into()))
}

/// A connection in use.
struct Lent {
    /// There until it is dropped.
    connection: Option<PoolConnection<Postgres>>,
    planned: Instant,
    /// Whether its last statement was.
    answered: bool,
    in_transaction: bool,
    home: Connections,
    _place: OwnedSemaphorePermit,
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if self.in_transaction {
            // Nobody ended it: the server does, as the connection goes.
            connection.close_on_drop();
        } else if self.answered {
            let planned = self.planned;
            self.home.aside().push(Aside { connection, since: Instant::now(), planned });
        }
    }
}

impl Lent {
    /// Do something on the connection. Unless it comes to an end with the server's answer, the connection is not used
    /// again as it is.
    async fn with<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let connection = self.connection.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        self.answered = false;
        let done = work(connection).await;
        self.answered = done.as_ref().err().is_none_or(goes_on);
        if !self.answered {
            // What has befallen this one may have befallen them all.
            drop(std::mem::take(&mut *self.home.aside()));
        }
        done
    }

    /// Without preparing it.
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

    async fn query_one(&mut self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let query = query(statement);
        let found = self.with(async |connection| query.fetch_optional(connection).await).await;
        Ok(found.map_err(unanswered)?.map(Into::into))
    }

    async fn query_all(&mut self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let query = query(statement);
        let found = self.with(async |connection| query.fetch_all(connection).await).await;
        Ok(found.map_err(unanswered)?.into_iter().map(Into::into).collect())
    }
}

/// Whether a connection goes on after an error: the server has answered, and is not about to stop.
fn goes_on(error: &sqlx::Error) -> bool {
    let answer = error.as_database_error();
    answer.is_some_and(|answer| answer.code().is_none_or(|code| !code.starts_with("57P")))
}

/// Prepared once a connection, unless it has more values than that. Those are rows of which no two batches have as many: each
/// number would be a text of its own, kept by the connection and by its server, and hardly ever asked for again.
const PREPARED_VALUES_MAX: usize = 256;

fn query(statement: Statement) -> sqlx::query::Query<'static, Postgres, SqlxValues> {
    show(&statement);
    let Statement { sql, values, .. } = statement;
    let values = values.unwrap_or(Values(Vec::new()));
    let is_kept = values.0.len() <= PREPARED_VALUES_MAX;
    sqlx::query_with(AssertSqlSafe(sql), SqlxValues(values)).persistent(is_kept)
}

fn unexecuted(error: sqlx::Error) -> DbErr {
    DbErr::Exec(RuntimeErr::SqlxError(error.into()))
}

fn unanswered(error: sqlx::Error) -> DbErr {
    DbErr::Query(RuntimeErr::SqlxError(error.into()))
}

#[async_trait]
impl ConnectionTrait for Connections {
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
        self.lend().await?.query_one(statement).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.lend().await?.query_all(statement).await
    }
}

/// A transaction under way. Dropped, it is undone.
pub(super) struct Transaction(tokio::sync::Mutex<Lent>);

impl Transaction {
    pub async fn commit(self) -> Result<(), DbErr> {
        self.end("COMMIT").await
    }

    pub async fn rollback(self) -> Result<(), DbErr> {
        self.end("ROLLBACK").await
    }

    async fn end(self, how: &str) -> Result<(), DbErr> {
        let mut lent = self.0.into_inner();
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
        self.0.lock().await.execute(statement).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.0.lock().await.run(sql).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.0.lock().await.query_one(statement).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.0.lock().await.query_all(statement).await
    }
}
