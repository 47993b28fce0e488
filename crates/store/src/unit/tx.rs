//! The transaction that a unit of work runs in.

mod commit;
mod fence;

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use async_trait::async_trait;
use base::clock::IdGenerator;
use base::mutants::{self, Mutant};
use base::mutex::lock;
use base::trace::TraceContext;
use entity::Token;
use entity::token::TokenKind;
use sea_orm::sea_query::{Expr, LockType, QueryStatementBuilder, SelectStatement};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, DbErr, EntityName, EntityTrait, ExecResult, Iterable,
    ModelTrait, PrimaryKeyToColumn, PrimaryKeyTrait, QueryFilter, QueryResult, QuerySelect, QueryTrait,
    Statement, StatementBuilder, UpdateMany, Value,
};
use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::DISABLE_TIMEOUTS;
use crate::Operator;
use crate::either::Origin;
use crate::error::StoreError;
use crate::postgres::group_commit::GroupCommit;
use crate::statements::Statements;
use crate::unit::deferred_updates::{Change, DeferredUpdates, LOST};
use crate::unit::derived::Derivation;
use crate::unit::open_transaction::OpenTransaction;
use crate::unit::sums::Sum;
use crate::unit::write_buffer::{Then, WriteBuffer, WriteStatement};

/// Values of a store that it and its transactions find by their types.
pub(crate) type Listeners = Arc<[OnceLock<Box<dyn Any + Send + Sync>>; 3]>;

/// The way in which PostgreSQL gets all writes of a unit at once.
#[derive(Clone)]
pub(crate) enum CommitPath {
    /// One statement, which units may share.
    Groups(Arc<GroupCommit>),
    /// Distributed: a call of a function, which units whose rows lie on one node may share.
    Calls(Arc<GroupCommit>),
}

/// Begins transactions.
#[derive(Clone)]
pub(crate) struct TransactionFactory {
    origin: Origin,
    ids: Arc<IdGenerator>,
    statements: Arc<Statements>,
    listeners: Listeners,
    operator: Arc<OnceLock<Operator>>,
    /// `None` where a unit is several statements.
    path: Option<CommitPath>,
}

impl TransactionFactory {
    pub fn new(
        (origin, path): (Origin, Option<CommitPath>),
        ids: Arc<IdGenerator>,
        statements: Arc<Statements>,
        listeners: Listeners,
        operator: Arc<OnceLock<Operator>>,
    ) -> Self {
        Self { origin, ids, statements, listeners, operator, path }
    }

    pub fn tx(&self) -> Tx {
        Tx {
            factory: self.clone(),
            transaction: OnceCell::new(),
            unit: Mutex::default(),
            batch: Mutex::default(),
            deferred: None,
            wrote: AtomicBool::new(false),
            cause: Mutex::default(),
        }
    }

    /// Returns whether units share statements: on a PostgreSQL that is not distributed.
    pub fn has_groups(&self) -> bool {
        matches!(self.path, Some(CommitPath::Groups(_)))
    }

    /// Returns whether PostgreSQL gets all writes of a unit at once.
    pub fn sends_at_once(&self) -> bool {
        self.path.is_some()
    }

    /// Creates a transaction that assumes the success of compare-and-sets, where they can be sent with the other writes.
    pub fn guessing(&self) -> Tx {
        Tx { deferred: self.sends_at_once().then(Mutex::default), ..self.tx() }
    }
}

/// An open transaction. It is a connection: queries run on it and see what it has written, but not its buffered writes.
///
/// It begins with its first statement, so a unit that only buffers writes is one statement on PostgreSQL.
pub struct Tx {
    factory: TransactionFactory,
    transaction: OnceCell<OpenTransaction>,
    /// Buffered by the unit that runs now.
    unit: Mutex<WriteBuffer>,
    /// Buffered by the finished units of this batch.
    batch: Mutex<WriteBuffer>,
    /// Deferred updates; `None` sends them at once.
    deferred: Option<Mutex<DeferredUpdates>>,
    /// Whether the unit that runs now has sent a statement that wrote.
    wrote: AtomicBool,
    /// The trace that caused the unit.
    cause: Mutex<Option<TraceContext>>,
}

impl Tx {
    /// Buffers a row that no query reads before the commit.
    pub fn append<M: ModelTrait>(&self, row: &M) {
        self.unit().row(row);
    }

    /// Appends a row that refuses its unit with `refusal` if one with its primary key exists, before the unit's first write. Between
    /// units of one batch this method decides, so that the loser does not spoil the batch; between others, the primary key decides
    /// at the commit.
    pub fn append_unique<M, R>(&self, row: &M, refusal: R) -> Result<(), R>
    where
        M: ModelTrait,
        R: Into<StoreError> + Copy + Send + Sync + 'static,
    {
        if self.batch().has(row) {
            return Err(refusal);
        }
        let mut unit = if mutants::is(Mutant::ClaimOutsideUnit) { self.batch() } else { self.unit() };
        unit.row(row);
        unit.unique.push((EntityName::table_name(&M::Entity::default()), Box::new(move || refusal.into())));
        Ok(())
    }

    /// Appends a row of a table that has no model.
    pub fn append_values<const N: usize>(&self, table: &'static str, row: [(&'static str, Value); N]) {
        self.unit().values(table, row);
    }

    /// Inserts a row at once, for other units of the same batch: they may name it before this unit has answered.
    pub async fn insert<M: ModelTrait>(&self, row: &M) -> Result<(), DbErr> {
        let mut alone = WriteBuffer::default();
        alone.row(row);
        self.write_at_once(alone, 0).await
    }

    /// Runs a compare-and-set on which the unit depends, and returns whether it changed a row.
    ///
    /// On PostgreSQL it may be deferred and assumed to succeed; if it does not, nothing is written and the unit runs again. So
    /// several compare-and-sets and the writes buffered after them are one statement.
    pub async fn compare_and_set<E: EntityTrait>(&self, update: UpdateMany<E>) -> Result<bool, DbErr> {
        let update = update.into_query();
        if self.defer(Change::Decides, &update) {
            return Ok(true);
        }
        Ok(self.execute(&update).await?.rows_affected() > 0)
    }

    /// Requires that a query finds a row, and returns whether it does. Deferred as by [`Self::compare_and_set`]; the query looks
    /// rows up by unique keys, so that it finds one at most.
    pub async fn require(&self, row: &SelectStatement) -> Result<bool, DbErr> {
        if self.defer(Change::Requires, row) {
            return Ok(true);
        }
        Ok(self.query_one(row).await?.is_some())
    }

    /// Changes a row from `seen` to `row` while the columns of `guards` are as seen, and returns whether it did. Writes the
    /// columns that differ. Deferred as by [`Self::compare_and_set`].
    pub async fn compare_and_swap<M: ModelTrait>(
        &self,
        seen: &M,
        row: &M,
        guards: &[<M::Entity as EntityTrait>::Column],
    ) -> Result<bool, DbErr> {
        let mut update = M::Entity::update_many();
        let keys = <M::Entity as EntityTrait>::PrimaryKey::iter().map(PrimaryKeyToColumn::into_column);
        for column in keys.chain(guards.iter().copied()) {
            let value = seen.get(column);
            let same = if value == value.as_null() { column.is_null() } else { column.eq(value) };
            update = update.filter(same);
        }
        let mut columns: Vec<_> = differences(seen, row).collect();
        if columns.is_empty() {
            // There must be something to write for the comparison to be made.
            columns = guards.to_vec();
        }
        for column in columns {
            update = update.col_expr(column, column.save_as(Expr::val(row.get(column))));
        }
        self.compare_and_set(update).await
    }

    /// Changes a row that the unit has locked from `seen` to `row`: writes the columns that differ.
    pub async fn update<M: ModelTrait>(&self, seen: &M, row: &M) -> Result<(), StoreError> {
        let mut update = M::Entity::update_many();
        for key in <M::Entity as EntityTrait>::PrimaryKey::iter().map(PrimaryKeyToColumn::into_column) {
            update = update.filter(key.eq(seen.get(key)));
        }
        let mut changes = differences(seen, row).peekable();
        if changes.peek().is_none() {
            return Ok(());
        }
        for column in changes {
            update = update.col_expr(column, column.save_as(Expr::val(row.get(column))));
        }
        if update.exec(self).await?.rows_affected == 0 {
            return Err(StoreError::Internal("a row is gone under its lock"));
        }
        Ok(())
    }

    /// Updates rows, if there are any; no query reads them before the commit. On PostgreSQL the update may leave with other units'
    /// writes, so it must follow from a compare-and-set whose winner alone may change these rows.
    pub async fn defer_update<Q: QueryTrait>(&self, change: Q) -> Result<(), DbErr>
    where
        Q::QueryStatement: StatementBuilder + QueryStatementBuilder,
    {
        let change = change.into_query();
        if !self.defer(Change::Follows, &change) {
            self.execute(&change).await?;
        }
        Ok(())
    }

    /// Defers an update, if no statement was sent yet. Returns whether it did.
    fn defer(&self, change: Change, statement: &impl QueryStatementBuilder) -> bool {
        let Some(mut unsent) = self.unsent_updates() else { return false };
        unsent.add(change, statement);
        true
    }

    /// Returns whether the unit continued after a compare-and-set whose success was assumed and is not known yet.
    pub(crate) fn has_guessed(&self) -> bool {
        self.unsent_updates().is_some_and(|unsent| unsent.has_guessed())
    }

    /// Returns the deferred updates, which the first statement sends; `None` if it was sent, or if updates are not deferred.
    fn unsent_updates(&self) -> Option<MutexGuard<'_, DeferredUpdates>> {
        self.deferred.as_ref().filter(|_| !self.transaction.initialized()).map(lock)
    }

    async fn write_at_once(&self, rows: WriteBuffer, slot: i32) -> Result<(), DbErr> {
        for writes in rows.into_statements(self.get_database_backend(), None, slot) {
            let WriteStatement::Rows(statement) = writes else {
                return Err(DbErr::Custom("rows that are derived at once".into()));
            };
            self.execute_raw(statement).await?;
        }
        Ok(())
    }

    /// Adds to a sum that the unit does not read.
    pub fn add<S: Sum>(&self, key: S::Key, n: i64) {
        self.unit().sums.add::<S>(key, n);
    }

    /// Returns what this commit adds to the sums whose key is `counted`; no query sees it yet.
    pub fn added<S: Sum>(&self, counted: impl Fn(&S::Key) -> bool) -> i64 {
        self.unit().sums.added::<S>(&counted) + self.batch().sums.added::<S>(&counted)
    }

    /// Adds to a sum at once, so that the next query sees it.
    pub async fn add_at_once<S: Sum>(&self, key: S::Key, slot: i32, n: i64) -> Result<(), DbErr> {
        let mut alone = WriteBuffer::default();
        alone.sums.add::<S>(key, n);
        self.write_at_once(alone, slot).await
    }

    /// Locks a row until the commit, for work that one unit at a time may do. SQLite has a single writer and needs no lock.
    pub async fn lock<E: EntityTrait>(
        &self,
        key: impl Into<<E::PrimaryKey as PrimaryKeyTrait>::ValueType>,
    ) -> Result<(), DbErr> {
        if self.get_database_backend() == DbBackend::Postgres {
            let keys = E::PrimaryKey::iter().map(PrimaryKeyToColumn::into_column);
            let row = E::find_by_id(key).select_only().columns(keys).lock(LockType::NoKeyUpdate);
            self.query_one(&row.into_query()).await?;
        }
        Ok(())
    }

    /// Makes this unit run alone, before its first statement: for a unit that replaces rows of many tables. SQLite's writer runs
    /// one unit at a time; if its batch has buffered writes before, the unit fails and runs again by itself. On PostgreSQL it
    /// sees one state of the whole database, and runs again if another transaction changes the same rows.
    pub async fn require_exclusive(&self) -> Result<(), DbErr> {
        if self.get_database_backend() == DbBackend::Postgres {
            self.execute_unprepared("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
        }
        self.require_unbuffered()
    }

    /// Makes this unit see all that was written before it, before its first statement: for one that sums rows that others append. On
    /// SQLite it fails and runs again by itself if its batch has buffered writes; on PostgreSQL a unit is a transaction.
    pub fn require_unbuffered(&self) -> Result<(), DbErr> {
        if self.get_database_backend() == DbBackend::Sqlite && !self.batch().is_empty() {
            return Err(DbErr::Custom("a unit that runs alone".into()));
        }
        Ok(())
    }

    /// Disables the time-outs of this unit: it handles all that waits for an account, however much that is.
    pub async fn disable_timeouts(&self) -> Result<(), DbErr> {
        if self.get_database_backend() == DbBackend::Postgres {
            self.execute_unprepared(DISABLE_TIMEOUTS).await?;
        }
        Ok(())
    }

    /// Has the commit derive rows from `values`, and do `then` afterwards if it has derived any.
    pub fn derive(
        &self,
        how: &'static Derivation,
        values: Vec<Value>,
        then: Option<Box<dyn FnOnce() + Send + Sync>>,
    ) {
        let mut unit = self.unit();
        unit.derived.add(how, values);
        unit.then.extend(then.map(Then::IfDerived));
    }

    /// Does `then` after the commit, if it is known to have succeeded.
    pub fn after_commit(&self, then: impl FnOnce() + Send + Sync + 'static) {
        self.unit().then.push(Then::Always(Box::new(then)));
    }

    /// Returns the store's listener of this type, if it has one.
    pub fn listener<L: 'static>(&self) -> Option<&L> {
        self.factory.listeners.iter().find_map(|listener| listener.get()?.downcast_ref())
    }

    /// Returns the trace that caused the unit.
    pub fn cause(&self) -> Option<TraceContext> {
        *lock(&self.cause)
    }

    /// Sets the trace that caused the unit to run next.
    pub(crate) fn with_cause(&self, cause: Option<TraceContext>) -> &Self {
        *lock(&self.cause) = cause;
        self
    }

    /// Returns a new token.
    pub fn token<K: TokenKind>(&self) -> Token<K> {
        self.factory.ids.token()
    }

    /// Returns a new id for a record that has no token.
    pub fn id(&self) -> Uuid {
        self.factory.ids.next()
    }

    /// Returns the operator who writes; `None` in a server, which writes for its clients.
    pub fn operator(&self) -> Option<&Operator> {
        self.factory.operator.get()
    }

    fn unit(&self) -> MutexGuard<'_, WriteBuffer> {
        lock(&self.unit)
    }

    fn batch(&self) -> MutexGuard<'_, WriteBuffer> {
        lock(&self.batch)
    }

    /// Returns the open transaction. Begins it if necessary, and sends the deferred updates before the first statement.
    async fn open_transaction(&self) -> Result<&OpenTransaction, DbErr> {
        let begin = async || {
            let transaction = OpenTransaction::begin(&self.factory.origin).await?;
            let deferred = self.deferred.as_ref().map(|updates| lock(updates).clone());
            let Some(deferred) = deferred.filter(|updates| !updates.is_empty()) else {
                return Ok(transaction);
            };
            match self.send_deferred(&transaction, deferred).await {
                Ok(()) => Ok(transaction),
                Err(error) => {
                    // Without the rollback the connection would not be used again.
                    transaction.rollback().await;
                    Err(error)
                }
            }
        };
        self.transaction.get_or_try_init(begin).await
    }

    /// Sends the deferred updates: together, or one by one to a coordinator, which plans each for its worker.
    async fn send_deferred(
        &self,
        transaction: &OpenTransaction,
        deferred: DeferredUpdates,
    ) -> Result<(), DbErr> {
        if self.factory.has_groups() {
            self.factory.statements.wrote();
            return transaction.execute_raw(deferred.into_statement()).await.map(drop);
        }
        for update in deferred.0 {
            self.factory.statements.wrote();
            let is_decisive = update.change != Change::Follows;
            let done = transaction.execute_raw(update.into_statement()).await?;
            if is_decisive && done.rows_affected() == 0 {
                return Err(LOST);
            }
        }
        Ok(())
    }

    /// Returns the transaction for a statement that may write.
    async fn writing(&self) -> Result<&OpenTransaction, DbErr> {
        self.factory.statements.wrote();
        self.open_transaction().await
    }

    /// Returns the transaction for a query. INSERT, UPDATE and DELETE with RETURNING come as queries.
    async fn reading(&self, sql: &str) -> Result<&OpenTransaction, DbErr> {
        if !sql.starts_with("SELECT") {
            self.wrote.store(true, Ordering::Relaxed);
        }
        self.writing().await
    }

    /// Keeps the buffered writes of the unit that ran; it is done.
    pub(crate) fn keep_unit(&self) {
        self.stop_at_fences();
        let unit = std::mem::take(&mut *self.unit());
        self.batch().absorb(unit);
        self.wrote.store(false, Ordering::Relaxed);
    }

    /// Drops the buffered writes of the unit that ran and refused. Returns false if it has sent writes, which only a rollback
    /// undoes.
    pub(crate) fn drop_unit(&self) -> bool {
        self.stop_at_fences();
        *self.unit() = WriteBuffer::default();
        !self.wrote.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl ConnectionTrait for Tx {
    fn get_database_backend(&self) -> DbBackend {
        self.factory.origin.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let done = self.writing().await?.execute_raw(statement).await?;
        // A compare-and-set that failed has changed nothing, so its unit may still refuse.
        self.wrote.fetch_or(done.rows_affected() > 0, Ordering::Relaxed);
        Ok(done)
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.wrote.store(true, Ordering::Relaxed);
        self.writing().await?.execute_unprepared(sql).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.reading(&statement.sql).await?.query_one_raw(statement).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.reading(&statement.sql).await?.query_all_raw(statement).await
    }
}

/// Returns the columns in which two versions of a row differ.
fn differences<M: ModelTrait>(seen: &M, row: &M) -> impl Iterator<Item = <M::Entity as EntityTrait>::Column> {
    <M::Entity as EntityTrait>::Column::iter().filter(|column| row.get(*column) != seen.get(*column))
}
