//! What a unit of work can reach.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use entity::counter::Counted;
use entity::{AccountToken, Day, EventToken, Timestamp, Token, account, idempotency_key};
use sea_orm::sea_query::{LockType, OnConflict};
use sea_orm::{
    ConnectionTrait, DbBackend, DbErr, EntityTrait, ExecResult, IntoActiveModel, ModelTrait, QueryResult,
    QuerySelect, Statement,
};
use tokio::sync::OnceCell;
use uuid::Uuid;

use super::announced::{Announcement, HandOff};
use super::appended::{Appended, WordTable};
use super::begun::{Begun, Uncommitted};
use super::either::Origin;
use super::statements::Statements;
use crate::clock::Ids;
use crate::error::{Error, ErrorCode};
use crate::limits::{DEBIT_SLOT, SLOTS};

/// What it takes to begin a transaction.
#[derive(Clone)]
pub(super) struct Begin {
    origin: Origin,
    ids: Arc<Ids>,
    statements: Arc<Statements>,
    /// PostgreSQL: units in flight take turns over the slots. One hot row would cost two thirds of the throughput.
    turn: Arc<AtomicI32>,
    hand_off: HandOff,
}

impl Begin {
    pub fn new(origin: Origin, ids: Arc<Ids>, statements: Arc<Statements>, hand_off: HandOff) -> Self {
        Self { origin, ids, statements, turn: Arc::default(), hand_off }
    }

    pub fn tx(&self) -> Tx {
        Tx {
            begin: self.clone(),
            begun: OnceCell::new(),
            unit: Mutex::default(),
            batch: Mutex::default(),
            wrote: AtomicBool::new(false),
        }
    }
}

/// A transaction under way. It is a connection: queries run on it, and see what it has written, but not what
/// it has only appended.
///
/// It begins with its first statement, so a unit that only appends is one statement on PostgreSQL.
pub struct Tx {
    begin: Begin,
    begun: OnceCell<Begun>,
    /// Appended by the unit that runs now.
    unit: Mutex<Appended>,
    /// Appended by the units of this batch that are done.
    batch: Mutex<Appended>,
    /// Whether the unit that runs now has sent a statement that writes.
    wrote: AtomicBool,
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
        let mut alone = Appended::default();
        alone.row(row);
        self.write_at_once(alone, 0).await
    }

    async fn write_at_once(&self, rows: Appended, slot: i32) -> Result<(), DbErr> {
        for statement in rows.into_statements(self.get_database_backend(), slot, None) {
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
    pub async fn hold_account(&self, account: AccountToken) -> Result<(), DbErr> {
        if self.get_database_backend() == DbBackend::Postgres {
            let held = account::Entity::find_by_id(account).select_only().column(account::Column::Id);
            held.lock(LockType::NoKeyUpdate).into_tuple::<AccountToken>().one(self).await?;
        }
        Ok(())
    }

    /// Take money from the account's balance of a day, at once, so that the next look sees it.
    pub async fn debit(&self, account: AccountToken, available_on: Day, amount: i64) -> Result<(), DbErr> {
        let mut alone = Appended::default();
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
    pub fn announce(&self, account: AccountToken, event: EventToken, at: Timestamp) {
        let webhooks = std::array::from_fn(|_| self.token());
        self.unit().announce(Announcement { account, event, at, webhooks });
    }

    /// A fresh token.
    pub fn token<K>(&self) -> Token<K> {
        self.begin.ids.token()
    }

    fn unit(&self) -> MutexGuard<'_, Appended> {
        self.unit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn batch(&self) -> MutexGuard<'_, Appended> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn begun(&self) -> Result<&Begun, DbErr> {
        self.begun.get_or_try_init(|| Begun::begin(&self.begin.origin)).await
    }

    /// Where a statement that may write runs.
    async fn writing(&self) -> Result<&Begun, DbErr> {
        self.begin.statements.wrote();
        self.begun().await
    }

    /// Where a query runs. INSERT, UPDATE and DELETE with RETURNING come as queries.
    async fn reading(&self, sql: &str) -> Result<&Begun, DbErr> {
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
        *self.unit() = Appended::default();
        !self.wrote.load(Ordering::Relaxed)
    }

    /// Write what the units appended, and commit.
    pub(super) async fn commit(self) -> Result<(), Uncommitted> {
        let appended = std::mem::take(&mut *self.batch());
        let backend = self.get_database_backend();
        if appended.is_empty() && !self.begun.initialized() {
            return Ok(());
        }
        let slot = if backend == DbBackend::Postgres {
            self.begin.turn.fetch_add(1, Ordering::Relaxed).rem_euclid(i32::from(SLOTS))
        } else {
            0
        };
        let announced = appended.announced().to_vec();
        let places = self.begin.hand_off.places(announced.len());
        let leased_until = places.as_ref().map(|places| places.leased_until);
        let appended = appended.into_statements(backend, slot, leased_until);
        if !appended.is_empty() {
            self.begin.statements.wrote();
        }
        self.begin.statements.committed();
        match self.begun.into_inner() {
            Some(begun) => begun.commit(appended).await?,
            None => Begun::alone(&self.begin.origin, appended).await?,
        }
        if let Some(places) = places {
            places.fill(announced);
        }
        Ok(())
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
