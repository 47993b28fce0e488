//! What a unit of work can reach.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use entity::counter::Counted;
use entity::token::TokenKind;
use entity::{
    AccountToken, Day, EventToken, Timestamp, Token, WebhookEndpointToken, account, idempotency_key,
    webhook_endpoint,
};
use sea_orm::sea_query::{LockType, OnConflict, QueryStatementBuilder};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbBackend, DbErr, EntityTrait, ExecResult, IntoActiveModel, ModelTrait,
    QueryFilter, QueryResult, QuerySelect, QueryTrait, Statement, StatementBuilder, UpdateMany,
};
use tokio::sync::OnceCell;
use uuid::Uuid;

use super::AS_LONG_AS_IT_TAKES;
use super::Operator;
use super::deferred_updates::{Change, DeferredUpdates};
use super::either::Origin;
use super::open_transaction::{CommitError, OpenTransaction, uncommitted};
use super::outbox::{DispatcherChannel, OutboxEvent};
use super::statements::Statements;
use super::write_buffer::{WordTable, WriteBuffer, WriteStatement};
use crate::error::{Error, ErrorCode};
use crate::limits::DEBIT_SLOT;
use crate::runtime::clock::IdGenerator;
use crate::trace::TraceContext;

/// What it takes to begin a transaction.
#[derive(Clone)]
pub(super) struct TransactionFactory {
    origin: Origin,
    ids: Arc<IdGenerator>,
    statements: Arc<Statements>,
    hand_off: DispatcherChannel,
    operator: Arc<OnceLock<Operator>>,
    /// Whether what a unit writes may be one statement.
    together: bool,
}

impl TransactionFactory {
    pub fn new(
        (origin, together): (Origin, bool),
        ids: Arc<IdGenerator>,
        statements: Arc<Statements>,
        hand_off: DispatcherChannel,
        operator: Arc<OnceLock<Operator>>,
    ) -> Self {
        Self { origin, ids, statements, hand_off, operator, together }
    }

    pub fn tx(&self) -> Tx {
        Tx {
            begin: self.clone(),
            begun: OnceCell::new(),
            unit: Mutex::default(),
            batch: Mutex::default(),
            held: None,
            wrote: AtomicBool::new(false),
            cause: Mutex::default(),
        }
    }

    /// One whose guards are answered before they are sent, where they can leave with the rest.
    pub fn guessing(&self) -> Tx {
        Tx { held: self.together.then(Mutex::default), ..self.tx() }
    }
}

/// A transaction under way. It is a connection: queries run on it, and see what it has written, but not what
/// it has only appended.
///
/// It begins with its first statement, so a unit that only appends is one statement on PostgreSQL.
pub struct Tx {
    begin: TransactionFactory,
    begun: OnceCell<OpenTransaction>,
    /// Appended by the unit that runs now.
    unit: Mutex<WriteBuffer>,
    /// Appended by the units of this batch that are done.
    batch: Mutex<WriteBuffer>,
    /// Guards that wait; where there is no place for any, they are sent at once.
    held: Option<Mutex<DeferredUpdates>>,
    /// Whether the unit that runs now has sent a statement that writes.
    wrote: AtomicBool,
    /// For what it runs.
    cause: Mutex<Option<TraceContext>>,
}

impl Tx {
    /// Add a row that nobody looks at before the commit.
    pub fn append<M: ModelTrait>(&self, row: &M) {
        self.unit().row(row);
    }

    /// Claim an Idempotency-Key, before the unit's first write. Between units of one batch it is decided here, so that
    /// the loser's conflict does not spoil the batch; between others, by the primary key at the commit.
    ///
    /// Refusals: `idempotency_key_in_use`.
    pub fn claim(&self, key: &idempotency_key::Model) -> Result<(), Error> {
        if self.batch().has_claimed(key) {
            return Err(ErrorCode::IdempotencyKeyInUse.into());
        }
        self.unit().claim(key);
        Ok(())
    }

    /// The same, but on PostgreSQL a rival that has claimed the key is waited for here: for a unit that would otherwise
    /// do all its work, get in its rivals' way and be undone.
    ///
    /// Refusals: `idempotency_key_in_use`.
    pub async fn claim_first(&self, key: &idempotency_key::Model) -> Result<(), Error> {
        if self.get_database_backend() != DbBackend::Postgres {
            return self.claim(key);
        }
        let claim = idempotency_key::Entity::insert(key.clone().into_active_model());
        let claim = claim.on_conflict(OnConflict::new().do_nothing().to_owned());
        match claim.exec_without_returning(self).await? {
            0 => Err(ErrorCode::IdempotencyKeyInUse.into()),
            _ => Ok(()),
        }
    }

    /// Add a row that another unit of the same batch may look at: one that can be named before this unit has
    /// answered.
    pub async fn insert<M: ModelTrait>(&self, row: &M) -> Result<(), DbErr> {
        let mut alone = WriteBuffer::default();
        alone.row(row);
        self.write_at_once(alone, 0).await
    }

    /// A compare-and-set on whose success the unit goes on: whether it has changed a row.
    ///
    /// On PostgreSQL it may be held and answered with yes; where the answer turns out to be wrong, nothing was written and
    /// the unit runs again. So several guards, and what is appended after them, are one statement.
    pub async fn compare_and_set<E: EntityTrait>(&self, update: UpdateMany<E>) -> Result<bool, DbErr> {
        let update = update.into_query();
        if self.hold(Change::Decides, &update) {
            return Ok(true);
        }
        Ok(self.execute(&update).await?.rows_affected() > 0)
    }

    /// Change what is there, if anything is: nobody looks at it before the commit.
    pub async fn defer_update<Q: QueryTrait>(&self, change: Q) -> Result<(), DbErr>
    where
        Q::QueryStatement: StatementBuilder + QueryStatementBuilder,
    {
        let change = change.into_query();
        if !self.hold(Change::Follows, &change) {
            self.execute(&change).await?;
        }
        Ok(())
    }

    /// Keep a change for later, as long as nothing was sent.
    fn hold(&self, change: Change, statement: &impl QueryStatementBuilder) -> bool {
        let held = self.held.as_ref().filter(|_| !self.begun.initialized());
        held.inspect(|held| lock(held).add(change, statement)).is_some()
    }

    /// Whether the unit has been told of a guard that it won, and nobody knows yet.
    pub(super) fn has_guessed(&self) -> bool {
        self.held.as_ref().is_some_and(|held| !self.begun.initialized() && lock(held).has_guessed())
    }

    async fn write_at_once(&self, rows: WriteBuffer, slot: i32) -> Result<(), DbErr> {
        for writes in rows.into_statements(self.get_database_backend(), None, slot, None) {
            let (WriteStatement::Rows(statement) | WriteStatement::Told(statement)) = writes;
            self.execute_raw(statement).await?;
        }
        Ok(())
    }

    /// Add to a count of the account's.
    pub fn count(&self, account: AccountToken, what: Counted, n: i64) {
        if n != 0 {
            self.unit().count(account, what, n);
        }
    }

    /// Take rows that are gone from a count of the account's.
    pub fn uncount(&self, account: AccountToken, what: Counted, gone: u64) {
        self.count(account, what, -i64::try_from(gone).unwrap_or(i64::MAX));
    }

    /// Add money to the account's balance of a day. Never for a debit: that must look before it takes.
    pub fn credit(&self, account: AccountToken, available_on: Day, amount: i64) {
        self.unit().credit(account, available_on, amount);
    }

    /// The credits that will be written with this commit, of all days or up to one: no query sees them yet.
    pub fn credits_to_come(&self, account: AccountToken, up_to: Option<Day>) -> i64 {
        self.unit().credits(account, up_to) + self.batch().credits(account, up_to)
    }

    /// Let nobody else do before this commit what one at a time may do for an account: take from its balance (look,
    /// then [`Tx::debit`]), purge what is old. SQLite's writer is alone as it is.
    pub async fn lock_account(&self, account: AccountToken) -> Result<(), DbErr> {
        if self.get_database_backend() == DbBackend::Postgres {
            let held = account::Entity::find_by_id(account).select_only().column(account::Column::Id);
            held.lock(LockType::NoKeyUpdate).into_tuple::<AccountToken>().one(self).await?;
        }
        Ok(())
    }

    /// Let this unit be the only one at work, before its first statement: for what replaces rows of many tables. On SQLite
    /// that is the case, but for what its batch has appended before, so it is run again by itself then; on PostgreSQL it
    /// sees one state of everything, and is run again where somebody else changes what it changes.
    pub async fn require_exclusive(&self) -> Result<(), DbErr> {
        if self.get_database_backend() == DbBackend::Postgres {
            self.execute_unprepared("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
        } else if !self.batch().is_empty() {
            return Err(DbErr::Custom("a unit that runs alone".into()));
        }
        Ok(())
    }

    /// Let this unit take as long as it takes: it is about everything that waits for an account, however much that is.
    pub async fn disable_timeouts(&self) -> Result<(), DbErr> {
        if self.get_database_backend() == DbBackend::Postgres {
            self.execute_unprepared(AS_LONG_AS_IT_TAKES).await?;
        }
        Ok(())
    }

    /// Take money from the account's balance of a day, at once, so that the next look sees it.
    pub async fn debit(&self, account: AccountToken, available_on: Day, amount: i64) -> Result<(), DbErr> {
        let mut alone = WriteBuffer::default();
        alone.credit(account, available_on, -amount);
        self.write_at_once(alone, DEBIT_SLOT).await
    }

    /// Let words be found; PostgreSQL finds them in the row itself.
    pub fn words(&self, table: WordTable, account: AccountToken, id: Uuid, text: &str) {
        if self.get_database_backend() != DbBackend::Postgres {
            self.unit().words(table, account, id, text);
        }
    }

    /// Let an event be told to the account's webhook endpoints, with the commit.
    pub fn publish_event(&self, account: AccountToken, event: EventToken, at: Timestamp) {
        let webhooks = std::array::from_fn(|_| self.token());
        let trace = lock(&self.cause).as_ref().map(ToString::to_string);
        self.unit().publish_event(OutboxEvent { account, event, at, webhooks, trace });
    }

    /// The unit that runs next has this cause.
    pub(super) fn because_of(&self, cause: Option<TraceContext>) -> &Self {
        *lock(&self.cause) = cause;
        self
    }

    /// A fresh token.
    pub fn token<K: TokenKind>(&self) -> Token<K> {
        self.begin.ids.token()
    }

    /// A fresh id of what has no token.
    pub fn id(&self) -> Uuid {
        self.begin.ids.next()
    }

    /// The operator who writes, if one does: a server writes for its callers.
    pub fn operator(&self) -> Option<&Operator> {
        self.begin.operator.get()
    }

    fn unit(&self) -> MutexGuard<'_, WriteBuffer> {
        lock(&self.unit)
    }

    fn batch(&self) -> MutexGuard<'_, WriteBuffer> {
        lock(&self.batch)
    }

    /// What is held goes before the first statement.
    async fn begun(&self) -> Result<&OpenTransaction, DbErr> {
        let begin = async || {
            let begun = OpenTransaction::begin(&self.begin.origin).await?;
            let held = self.held.as_ref().map(|held| lock(held).clone()).filter(|held| !held.is_empty());
            let Some(held) = held else { return Ok(begun) };
            self.begin.statements.wrote();
            match begun.execute_raw(held.into_statement()).await {
                Ok(_) => Ok(begun),
                Err(error) => {
                    // What is dropped within its transaction is not used again.
                    begun.rollback().await;
                    Err(error)
                }
            }
        };
        self.begun.get_or_try_init(begin).await
    }

    /// Where a statement that may write runs.
    async fn writing(&self) -> Result<&OpenTransaction, DbErr> {
        self.begin.statements.wrote();
        self.begun().await
    }

    /// Where a query runs. INSERT, UPDATE and DELETE with RETURNING come as queries.
    async fn reading(&self, sql: &str) -> Result<&OpenTransaction, DbErr> {
        if !sql.starts_with("SELECT") {
            self.wrote.store(true, Ordering::Relaxed);
        }
        self.writing().await
    }

    /// The unit that ran is done: what it appended stays.
    pub(super) fn keep_unit(&self) {
        let unit = std::mem::take(&mut *self.unit());
        self.batch().absorb(unit);
        self.wrote.store(false, Ordering::Relaxed);
    }

    /// The unit that ran refused: what it appended goes. False if it has written, so that only a rollback helps.
    pub(super) fn drop_unit(&self) -> bool {
        *self.unit() = WriteBuffer::default();
        !self.wrote.load(Ordering::Relaxed)
    }

    /// Write what the units appended, and commit.
    pub(super) async fn commit(self) -> Result<(), CommitError> {
        let mut appended = std::mem::take(&mut *self.batch());
        // Once something was sent, what was held has been sent before it.
        let held = self.held.as_ref().filter(|_| !self.begun.initialized());
        let held = held.map(|held| std::mem::take(&mut *lock(held))).unwrap_or_default();
        let backend = self.get_database_backend();
        if appended.is_empty() && held.is_empty() && !self.begun.initialized() {
            return Ok(());
        }
        let mut announced = appended.events().to_vec();
        let places = self.begin.hand_off.places(announced.len());
        let leased_until = places.as_ref().map(|places| places.leased_until);
        let together = self.begin.together.then_some(held);
        let addressed = backend == DbBackend::Postgres && together.is_none();
        if addressed {
            announced = self.address(&mut appended, leased_until).await.map_err(CommitError::Failed)?;
        }
        let begun = match self.begun.into_inner() {
            Some(begun) => begun,
            None => OpenTransaction::alone(&self.begin.origin).await.map_err(uncommitted)?,
        };
        let appended = appended.into_statements(backend, together, begun.slot(), leased_until);
        if !appended.is_empty() {
            self.begin.statements.wrote();
        }
        self.begin.statements.committed();
        let told = begun.commit(appended).await?;
        // Nobody looks for webhooks that nobody listens for.
        if let Some(places) = places.filter(|_| told || addressed) {
            places.fill(announced);
        }
        Ok(())
    }

    /// Look who is to be told of what is announced. The endpoints are locked: a rival that deletes one waits, and then
    /// deletes these webhooks as well. What somebody is told.
    async fn address(
        &self,
        appended: &mut WriteBuffer,
        leased_until: Option<Timestamp>,
    ) -> Result<Vec<OutboxEvent>, DbErr> {
        let (mut told, mut known) = (Vec::new(), HashMap::new());
        for announcement in appended.take_events() {
            let account = announcement.account;
            let endpoints: &Vec<(WebhookEndpointToken, i32)> = match known.entry(account) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(self.listeners(account).await?),
            };
            for &endpoint in endpoints {
                appended.tell(&announcement, endpoint, leased_until);
            }
            if !endpoints.is_empty() {
                told.push(announcement);
            }
        }
        Ok(told)
    }

    /// The endpoints of an account, by token and slot, locked.
    async fn listeners(&self, account: AccountToken) -> Result<Vec<(WebhookEndpointToken, i32)>, DbErr> {
        let endpoints = webhook_endpoint::Entity::find()
            .select_only()
            .columns([webhook_endpoint::Column::Id, webhook_endpoint::Column::Slot])
            .filter(webhook_endpoint::Column::AccountId.eq(account))
            .lock(LockType::KeyShare);
        endpoints.into_tuple().all(self.begun().await?).await
    }

    /// Undo everything.
    pub(super) async fn rollback(self) {
        if let Some(begun) = self.begun.into_inner() {
            begun.rollback().await;
        }
    }
}

#[async_trait]
impl ConnectionTrait for Tx {
    fn get_database_backend(&self) -> DbBackend {
        self.begin.origin.get_database_backend()
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let done = self.writing().await?.execute_raw(statement).await?;
        // A compare-and-set that lost has changed nothing, so its unit may still refuse.
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
