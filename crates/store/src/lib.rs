//! The store, the only access to the database. [`Store::read`] reads the last committed state; [`Store::write`] runs a unit
//! of work. No other code begins, commits or retries a transaction. `README.md` beside this folder says how both databases are made
//! fast. Besides, it makes, copies, distributes and inspects databases.
//!
//! It knows `base`, the schema (`migration`) and the columns of tables (`entity`), but no table of payments; a unit fails with an error
//! that only its caller knows ([`StoreError`]).

mod admin;
mod citus;
mod condition;
mod connect;
mod either;
mod error;
pub mod limits;
mod location;
mod postgres;
mod read;
mod sqlite;
mod statement_observer;
mod statements;
mod unit;

use std::any::Any;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use base::clock::IdGenerator;
use base::request_context::{Wait, waiting};
use base::trace::{self, Span, SpanKind};
use entity::{AccountToken, Owned, Timestamp};
use migration::MigratorTrait;
use sea_orm::sea_query::ExprTrait;
use sea_orm::{
    AccessMode, ColumnTrait, ConnectionTrait, DbBackend, DbErr, IsolationLevel, QueryFilter, Select,
    TransactionTrait,
};

pub use admin::backup::{BackupError, backup};
pub use admin::copy::{CopiedTable, Copy, CopyError, FollowingCopy};
pub use admin::inspect::{DatabaseKind, Inspection, PostgresReport, PostgresServer, SqliteFile, inspect};
pub use admin::installation_info::{
    CLOCK, FoundKey, InstallationInfo, RESTORING, read_installation, read_installation_to_copy,
};
pub use admin::integrity::{Integrity, check_integrity};
pub use admin::rewrite::{Rewriting, rewrite};
pub use citus::distributed::{NotDistributed, Place, distribute};
pub use connect::{ConnectError, migrate};
pub use either::Snapshot;
pub use error::{StoreError, UnitError, is_unavailable};
pub use location::Location;
pub use migration::Migrator;
pub use postgres::notifications::Notifications;
pub use read::cached_statement::CachedStatement;
pub use read::columns::{ColumnReader, FromColumns};
pub use sqlite::FileLock;
pub use statement_observer::watch;
pub use statements::{Counts, Statements};
pub use unit::Unit;
pub use unit::derived::Derivation;
pub use unit::rows::about;
pub use unit::sums::Sum;
pub use unit::tx::Tx;

use citus::distributed;
use citus::unit_call::UnitCalls;
use condition::Condition;
use either::{Either, Reading};
use postgres::group_commit::{GroupCommit, GroupWriter};
use postgres::group_statement::GroupTexts;
use sqlite::{DatabaseFile, ReadSnapshot};
use statements::Counting;
use unit::tx::{CommitPath, Listeners, TransactionFactory};
use unit::{UnitOfWork, UnitResult, typed};

/// Returns the number of migrations of the schema.
pub fn schema_steps() -> i32 {
    i32::try_from(Migrator::migrations().len()).unwrap_or(i32::MAX)
}

/// The connections that reads run on.
pub type Reader = Counting<Reading>;

/// The access to one database.
pub struct Store<E> {
    reader: Reader,
    writer: Writer,
    statements: Arc<Statements>,
    listeners: Listeners,
    operator: Arc<OnceLock<Operator>>,
    condition: Condition,
    /// The error of its units.
    errors: PhantomData<fn() -> E>,
}

/// An operator who runs a command, which writes in place of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    /// The operator's name on the machine.
    pub name: String,
    /// The time when the command began, by the wall clock.
    pub at: Timestamp,
}

/// Starts a span for a wait for the database.
fn span(name: &'static str, database: DbBackend) -> Span {
    let mut span = Span::part(name, SpanKind::Client);
    span.set_attribute(
        "db.system.name",
        if database == DbBackend::Postgres { "postgresql" } else { "sqlite" },
    );
    span
}

/// Disables the time-outs of a PostgreSQL transaction.
const DISABLE_TIMEOUTS: &str = "SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)";

/// SQLite has one writer, which runs queued units in batches; PostgreSQL has as many as its pool.
enum Writer {
    Sqlite(sqlite::Writer),
    Postgres(TransactionFactory),
}

impl<E> Store<E> {
    /// Opens the database at `location` and migrates its schema.
    pub async fn open(location: &Location, ids: Arc<IdGenerator>) -> Result<Self, ConnectError> {
        Self::open_locked(location, None, ids).await
    }

    /// Opens the database for a server, which has the lock of a SQLite file.
    pub async fn open_locked(
        location: &Location,
        lock: Option<&FileLock>,
        ids: Arc<IdGenerator>,
    ) -> Result<Self, ConnectError> {
        let statements = Arc::new(Statements::default());
        let (reading, origin, full) = connect::open(location, lock, &statements).await?;
        let condition = Condition::default();
        if let Some(why) = full {
            condition.failed(&why);
        }
        let path = match (location, &origin) {
            (Location::Postgres { url }, Either::Postgres(connections)) => {
                let groups = |writer| Arc::new(GroupCommit::new(writer, Arc::clone(&statements)));
                if distributed::is_distributed(connections).await? {
                    let calls = UnitCalls::find(url).await?;
                    calls.map(|calls| CommitPath::Calls(groups(GroupWriter::Call(calls))))
                } else {
                    let connections = connect::for_groups(url, Arc::clone(&statements)).await?;
                    let writer = GroupWriter::Statement(connections, GroupTexts::default());
                    Some(CommitPath::Groups(groups(writer)))
                }
            }
            _ => None,
        };
        let reader = Counting::new(reading, Arc::clone(&statements));
        let (listeners, operator) = (Listeners::default(), Arc::default());
        let (counted, notified) = (Arc::clone(&statements), Arc::clone(&listeners));
        let factory = TransactionFactory::new((origin, path), ids, counted, notified, Arc::clone(&operator));
        let writer = match reader.inner() {
            Either::Sqlite(readers) => {
                let file = Arc::clone(readers.0.file());
                Writer::Sqlite(sqlite::Writer::start(factory, file).map_err(ConnectError::Thread)?)
            }
            Either::Postgres(_) => Writer::Postgres(factory),
        };
        Ok(Self { reader, writer, statements, listeners, operator, condition, errors: PhantomData })
    }

    /// Sets the operator who writes through this store; the audit trail records what the operator does (`services::audit`). A
    /// store has one operator at most.
    pub fn set_operator(&self, operator: Operator) {
        assert!(self.operator.set(operator).is_ok(), "a store has one operator");
    }

    /// Returns whether rows have versions that a unit can require with its commit: on PostgreSQL.
    pub fn has_row_versions(&self) -> bool {
        matches!(&self.writer, Writer::Postgres(factory) if factory.sends_at_once())
    }

    /// Returns whether the rows of accounts lie on several nodes.
    pub fn is_distributed(&self) -> bool {
        matches!(&self.writer, Writer::Postgres(factory) if !factory.has_groups())
    }

    /// Returns the connections that reads run on.
    pub fn read(&self) -> &Reader {
        &self.reader
    }

    /// Begins a read transaction for long reads of everything: all its queries see the same committed state.
    pub async fn snapshot(&self) -> Result<Snapshot, DbErr> {
        match self.reader.inner() {
            Either::Sqlite(readers) => Ok(Snapshot::Sqlite(ReadSnapshot::at(&readers.0).await?)),
            Either::Postgres(connections) => {
                let level = Some(IsolationLevel::RepeatableRead);
                let snapshot =
                    connections.pool().begin_with_config(level, Some(AccessMode::ReadOnly)).await?;
                snapshot.execute_unprepared(DISABLE_TIMEOUTS).await?;
                Ok(Snapshot::Postgres(snapshot))
            }
        }
    }

    /// Runs a unit of work: all of it is committed, or nothing.
    ///
    /// `unit` gets the transaction and its own data, and can reach nothing else. It may run more than once (another unit of its
    /// batch failed, a serialisation failure), so values that must be the same in every run are drawn before and lie in
    /// `data`. It refuses before its first write; if it returns an error, nothing is committed. It runs in a task of its own:
    /// a caller who goes away leaves no half unit behind.
    ///
    /// A commit whose answer is lost is an error of an unreachable database and is never retried blindly.
    pub async fn write<D, T>(&self, data: D, unit: impl Unit<D, T, E>) -> Result<T, E>
    where
        D: Send + Sync + 'static,
        T: Send + 'static,
        E: UnitError,
    {
        typed(self.run(UnitOfWork::new(data, unit, trace::current())).await)
    }

    async fn run(&self, unit: UnitOfWork) -> UnitResult {
        let mut span = span("database write", self.backend());
        let written = waiting(Wait::Database, async {
            match &self.writer {
                Writer::Sqlite(writer) => writer.run(unit).await,
                Writer::Postgres(factory) => postgres::run(factory.clone(), unit).await,
            }
        });
        let written = span.run(written).await;
        if let Err(error) = &written {
            // is_writable reports a missing file.
            if self.is_writable() {
                self.condition.note(error, self.file().map(DatabaseFile::path));
            }
            if error.is_unavailable() {
                span.fail("service_unavailable");
            }
        }
        written
    }

    /// Returns why the database cannot be written, if that is known: its disk is full or fails.
    pub fn refuses_writes(&self) -> Option<String> {
        self.condition.why()
    }

    /// Returns whether SQLite's file is in place, and whole as far as it was read; if it is not, nothing is written.
    pub fn is_writable(&self) -> bool {
        self.file().is_none_or(DatabaseFile::is_writable)
    }

    fn file(&self) -> Option<&DatabaseFile> {
        match self.reader.inner() {
            Either::Sqlite(readers) => Some(readers.0.file()),
            Either::Postgres(_) => None,
        }
    }

    /// Raises a fence around an account's rows in some tables, before anything else reads them (`Tx::raise_fence`).
    pub fn raise_fence(&self, account: AccountToken, tables: Vec<&'static str>) {
        if let Some(file) = self.file() {
            file.fences.raise(account.id(), tables);
        }
    }

    /// Lifts the fence around an account's rows.
    pub fn lift_fence(&self, account: AccountToken) {
        if let Some(file) = self.file() {
            file.fences.lift(account.id());
        }
    }

    /// Returns whether there is a fence around an account's rows: a statement about several accounts leaves that one out.
    pub fn is_fenced(&self, account: AccountToken) -> bool {
        self.file().is_some_and(|file| file.fences.is_fenced(account.id()))
    }

    /// Leaves out the rows of accounts behind a fence. A read of several accounts does so before it counts its rows: the rows behind
    /// a fence stay as they are, and would be the first ones of every read.
    pub fn unfenced<T: Owned>(&self, rows: Select<T>) -> Select<T> {
        let fenced = self.file().map(|file| file.fences.fenced()).unwrap_or_default();
        if fenced.is_empty() {
            return rows;
        }
        // As bytes: a statement that binds an account is refused, because it is about its rows.
        rows.filter(
            T::ACCOUNT.into_expr().is_not_in(fenced.iter().map(|account| account.as_bytes().to_vec())),
        )
    }

    /// Empties SQLite's log, in which overwritten rows would stay for some time. Returns false if a reader needs the log still.
    pub async fn empty_log(&self) -> Result<bool, DbErr> {
        match self.reader.inner() {
            Either::Sqlite(readers) => readers.0.empty_log().await,
            Either::Postgres(_) => Ok(true),
        }
    }

    /// Returns the listener of this type, if there is one.
    pub fn listener<L: 'static>(&self) -> Option<&L> {
        self.listeners.iter().find_map(|listener| listener.get()?.downcast_ref())
    }

    /// Adds a listener, which units find in their transactions (`Tx::listener`). A store has one of a type, and few types.
    pub fn add_listener(&self, listener: impl Any + Send + Sync) {
        let mut listener: Box<dyn Any + Send + Sync> = Box::new(listener);
        for place in self.listeners.iter() {
            match place.set(listener) {
                Ok(()) => return,
                Err(taken) => listener = taken,
            }
        }
        panic!("a store has few listeners");
    }

    /// Returns the kind of database.
    pub fn backend(&self) -> DbBackend {
        self.reader.get_database_backend()
    }

    /// Returns the numbers of statements and commits so far.
    pub fn statements(&self) -> Counts {
        self.statements.counts()
    }

    /// Returns the number of units queued for SQLite's writer; PostgreSQL has no queue.
    pub fn queue(&self) -> usize {
        match &self.writer {
            Writer::Sqlite(writer) => writer.queue(),
            Writer::Postgres(_) => 0,
        }
    }

    /// Returns the numbers of open and of idle read connections.
    pub fn pool(&self) -> (usize, usize) {
        match self.reader.inner() {
            Either::Sqlite(readers) => readers.0.connections(),
            Either::Postgres(connections) => {
                let pool = connections.pool().get_postgres_connection_pool();
                (pool.size() as usize, pool.num_idle() + connections.idle())
            }
        }
    }
}
