//! Counts what reaches the database: statements and commits decide speed, so a test pins their number.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use base::request_context::{Wait, waiting};
use sea_orm::sea_query::SelectStatement;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, ExecResult, QueryResult, Statement};

use crate::either::Reading;
use crate::read::columns::FromColumns;
use crate::span;

/// Running totals.
#[derive(Debug, Default)]
pub struct Statements {
    reads: AtomicU64,
    writes: AtomicU64,
    commits: AtomicU64,
}

/// Totals at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Statements on the read pool.
    pub reads: u64,
    /// Statements in units of work; BEGIN and COMMIT are not counted.
    pub writes: u64,
    /// Of units of work; SQLite commits several at once.
    pub commits: u64,
}

impl Statements {
    pub(crate) fn wrote(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn committed(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            reads: self.reads.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            commits: self.commits.load(Ordering::Relaxed),
        }
    }
}

/// A connection whose statements and waiting time are counted.
#[derive(Debug)]
pub struct Counting<C> {
    inner: C,
    statements: Arc<Statements>,
}

impl<C: ConnectionTrait> Counting<C> {
    pub(crate) fn new(inner: C, statements: Arc<Statements>) -> Self {
        Self { inner, statements }
    }

    pub(crate) fn inner(&self) -> &C {
        &self.inner
    }

    fn counted(&self) -> &C {
        self.statements.reads.fetch_add(1, Ordering::Relaxed);
        &self.inner
    }

    async fn answered<T>(
        &self,
        statement: impl Future<Output = Result<T, DbErr>> + Send,
    ) -> Result<T, DbErr> {
        let span = span("database read", self.inner.get_database_backend());
        span.run(waiting(Wait::Database, statement)).await
    }
}

impl Counting<Reading> {
    /// Returns the records of all rows that a statement finds.
    pub async fn records<R: FromColumns>(&self, statement: Statement) -> Result<Vec<R>, DbErr> {
        self.answered(self.counted().records(statement)).await
    }

    /// Returns the row of a statement that is planned for its values each time: they decide which plan is fast, and the slowest
    /// plan takes far longer than planning.
    pub async fn one_planned(&self, query: &SelectStatement) -> Result<Option<QueryResult>, DbErr> {
        let statement = self.get_database_backend().build(query);
        self.answered(self.counted().one_planned(statement)).await
    }
}

#[async_trait]
impl<C: ConnectionTrait> ConnectionTrait for Counting<C> {
    fn get_database_backend(&self) -> DbBackend {
        self.inner.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.answered(self.counted().execute_raw(statement)).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.answered(self.counted().execute_unprepared(sql)).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.answered(self.counted().query_one_raw(statement)).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.answered(self.counted().query_all_raw(statement)).await
    }
}
