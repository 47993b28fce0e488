//! A connection to a SQLite file. It runs statements synchronously, on the caller's thread.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base::mutants::{self, Mutant};
use foldhash::fast::RandomState;
use rusqlite::config::DbConfig;
use rusqlite::{OpenFlags, Row};
use sea_orm::{DbBackend, DbErr, ExecResult, ProxyExecResult, ProxyRow, QueryResult, Statement};
use uuid::Uuid;

use super::fault::fault;
use super::file::{DatabaseFile, away};
use super::row::{Bound, Columns, SqliteRow};
use crate::connect::answered;
use crate::read::columns::FromColumns;

/// The tries to get a lock that another process holds, until a connection gives up, and the pause between two: ten seconds. SQLite's own
/// wait soon pauses for 100 ms, and hardly ever meets the moment between two commits of a busy server.
const LOCK_TRIES_MAX: i32 = 10_000;
const PAUSE: Duration = Duration::from_millis(1);
/// The number of prepared statements cached per connection. There are more than a hundred; a batch of buffered rows adds
/// five for each table, one per size.
const PREPARED_MAX: usize = 256;
/// The progress callbacks after which a bounded statement is interrupted, one to three milliseconds of work: it blocks a
/// worker of the runtime meanwhile. Not a time, which passes on a busy machine without any work done.
const BOUNDED_CALLBACKS: u32 = 50;
const SPAN_INSTRUCTIONS: i32 = 1000;
/// More callbacks than any statement takes.
const UNBOUNDED: u32 = u32::MAX;
/// SQLITE_INTERRUPT.
const INTERRUPTED: &str = "9";

pub(crate) struct Connection {
    inner: rusqlite::Connection,
    /// The columns of prepared statements, by their text.
    columns: RefCell<HashMap<String, Arc<Columns>, RandomState>>,
    /// The callbacks left until the running statement is interrupted.
    spans_left: Arc<AtomicU32>,
    /// The account whose fence its statements pass.
    passes: Cell<Option<Uuid>>,
    /// Dropped after the connection, as the module `file` requires.
    file: Option<Arc<DatabaseFile>>,
}

pub(super) type Run<T> = fn(&Connection, &Statement) -> Result<T, DbErr>;

impl Connection {
    /// Opens an existing file without changing its settings, before it is known to be ours.
    pub fn to_look_at(path: &Path) -> Result<Self, DbErr> {
        Self::with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens an existing file without changing a byte of it. With a log beside it, SQLite reads its log and its locks as ever and
    /// leaves the log in place; without one, nothing writes to the file, and SQLite creates no log.
    pub fn to_read(path: &Path) -> Result<Self, DbErr> {
        let beside = |end: &str| {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            Path::new(&name).exists()
        };
        if beside("-wal") || beside("-journal") {
            let connection = Self::with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let kept = connection.inner.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            return kept.map(|_| connection).map_err(|error| DbErr::Conn(fault(error)));
        }
        let as_it_is = format!("{}?immutable=1", uri(path));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        Self::with_flags(Path::new(&as_it_is), flags)
    }

    /// Opens a file that is ours or is to become ours.
    pub fn open(file: &Arc<DatabaseFile>) -> Result<Self, DbErr> {
        if !file.is_in_place() {
            return Err(away());
        }
        let connection = Self::with_flags(file.path(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // FULL: an acknowledged payment survives a power cut. The log may have 16 MB, four times the default: a page that many
        // payments change is then copied from it less often.
        // Deleted bytes are overwritten: they may be a person's.
        // A cache of 4 MB: a commit that has put the pages of an index in order makes SQLite look through all of it, because they go
        // by the number of a page far behind the last one meanwhile. With 16 MB that was a fifth of a payment.
        let settings = "PRAGMA journal_mode = wal; PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
                        PRAGMA cache_size = -4096; PRAGMA wal_autocheckpoint = 4000; PRAGMA temp_store = memory";
        connection.execute_all(settings)?;
        if mutants::is(Mutant::CommitNotFlushed) {
            connection.execute_all("PRAGMA synchronous = NORMAL")?;
        }
        Ok(Self { file: Some(Arc::clone(file)), ..connection })
    }

    fn with_flags(path: &Path, flags: OpenFlags) -> Result<Self, DbErr> {
        let open = || {
            // SQLite is built to take any name that begins with `file:` for a URI.
            let path = if path.is_relative() && !flags.contains(OpenFlags::SQLITE_OPEN_URI) {
                Cow::Owned(Path::new(".").join(path))
            } else {
                Cow::Borrowed(path)
            };
            let inner = rusqlite::Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
            inner.busy_handler(Some(retries_lock))?;
            inner.set_prepared_statement_cache_capacity(PREPARED_MAX);
            let spans_left = Arc::new(AtomicU32::new(UNBOUNDED));
            let spans = Arc::clone(&spans_left);
            let is_over = move || {
                spans.load(Ordering::Relaxed) != UNBOUNDED && spans.fetch_sub(1, Ordering::Relaxed) <= 1
            };
            inner.progress_handler(SPAN_INSTRUCTIONS, Some(is_over))?;
            Ok(Self { inner, columns: RefCell::default(), spans_left, passes: Cell::default(), file: None })
        };
        open().map_err(|error| DbErr::Conn(fault(error)))
    }

    /// Lets its statements pass an account's fence, or none.
    pub fn pass(&self, account: Option<Uuid>) {
        self.passes.set(account);
    }

    pub fn file(&self) -> Option<&DatabaseFile> {
        self.file.as_deref()
    }

    /// Returns what interrupts the running statement, or else the next one, from any thread.
    pub fn interrupter(&self) -> impl Fn() + Send + use<> {
        let spans = Arc::clone(&self.spans_left);
        move || spans.store(1, Ordering::Relaxed)
    }

    /// Runs a statement; interrupts a long one and returns `None`.
    pub fn run_bounded<T>(&self, statement: &Statement, run: Run<T>) -> Result<Option<T>, DbErr> {
        self.spans_left.store(BOUNDED_CALLBACKS, Ordering::Relaxed);
        let done = run(self, statement);
        self.spans_left.store(UNBOUNDED, Ordering::Relaxed);
        match done {
            Err(error) if answered(&error).is_some_and(|code| code == INTERRUPTED) => Ok(None),
            done => done.map(Some),
        }
    }

    /// Runs a statement for its changes and discards its rows.
    pub fn execute(&self, statement: &Statement) -> Result<ExecResult, DbErr> {
        let done = self.prepared(statement, |prepared| {
            let mut rows = prepared.raw_query();
            while rows.next()?.is_some() {}
            Ok(())
        });
        done.map_err(|error| DbErr::Exec(fault(error))).map(|()| self.changed())
    }

    /// Runs the statements of a text without caching them, as few are run again.
    pub fn execute_all(&self, sql: &str) -> Result<ExecResult, DbErr> {
        let done = self.noted(self.inner.execute_batch(sql));
        done.map_err(|error| DbErr::Exec(fault(error))).map(|()| self.changed())
    }

    /// Copies the log into the file and empties it, or returns false if others do not let it in time.
    pub fn empty_log(&self) -> Result<bool, DbErr> {
        const WAIT: Duration = Duration::from_millis(100);
        let failed = |error| DbErr::Conn(fault(error));
        self.inner.busy_timeout(WAIT).map_err(failed)?;
        let done =
            self.query_one(&Statement::from_string(DbBackend::Sqlite, "PRAGMA wal_checkpoint(TRUNCATE)"));
        self.inner.busy_handler(Some(retries_lock)).map_err(failed)?;
        done?.map_or(Ok(false), |row| Ok(row.try_get_by_index::<i64>(0)? == 0))
    }

    fn changed(&self) -> ExecResult {
        ProxyExecResult::new(0, self.inner.changes()).into()
    }

    /// Returns the first row that a statement finds.
    pub fn query_one(&self, statement: &Statement) -> Result<Option<QueryResult>, DbErr> {
        let mut first = None;
        self.each(statement, |row| {
            first = Some(row.into());
            ControlFlow::Break(())
        })?;
        Ok(first)
    }

    /// Returns all rows that a statement finds.
    pub fn query_all(&self, statement: &Statement) -> Result<Vec<QueryResult>, DbErr> {
        let mut all = Vec::new();
        self.each(statement, |row| {
            all.push(row.into());
            ControlFlow::Continue(())
        })?;
        Ok(all)
    }

    /// Returns the records of all rows that a statement finds.
    pub fn records<R: FromColumns>(&self, statement: &Statement) -> Result<Vec<R>, DbErr> {
        let (mut records, mut unread) = (Vec::new(), None);
        self.rows(statement, |row, columns| {
            let read = R::read(&mut SqliteRow::new(row, columns));
            let read = read.map(|record| records.push(record));
            unread = read.err();
            Ok(if unread.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        unread.map_or(Ok(records), Err)
    }

    /// Calls `tell` with each row that a statement finds, until it breaks.
    pub fn each(
        &self,
        statement: &Statement,
        mut on_row: impl FnMut(ProxyRow) -> ControlFlow<()>,
    ) -> Result<(), DbErr> {
        self.rows(statement, |row, columns| Ok(on_row(columns.read(row)?)))
    }

    fn rows(
        &self,
        statement: &Statement,
        mut on_row: impl FnMut(&Row<'_>, &Columns) -> rusqlite::Result<ControlFlow<()>>,
    ) -> Result<(), DbErr> {
        let done = self.prepared(statement, |prepared| {
            let columns = self.columns(&statement.sql, prepared);
            let mut rows = prepared.raw_query();
            while let Some(row) = rows.next()? {
                if on_row(row, &columns)?.is_break() {
                    break;
                }
            }
            Ok(())
        });
        done.map_err(|error| DbErr::Query(fault(error)))
    }

    /// Returns the columns of a text, which never change; reading their names and types costs more than one row does.
    fn columns(&self, sql: &str, prepared: &rusqlite::Statement<'_>) -> Arc<Columns> {
        let mut known = self.columns.borrow_mut();
        if let Some(columns) = known.get(sql) {
            return Arc::clone(columns);
        }
        if known.len() == PREPARED_MAX {
            known.clear();
        }
        let columns = Arc::new(Columns::from_statement(prepared));
        known.insert(sql.to_owned(), Arc::clone(&columns));
        columns
    }

    fn prepared<T>(
        &self,
        statement: &Statement,
        run: impl FnOnce(&mut rusqlite::Statement<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        if let Some(file) = &self.file {
            file.fences.check(statement, self.passes.get())?;
        }
        self.noted(self.run(statement, run))
    }

    /// Returns what was done, and tells the file of an error.
    fn noted<T>(&self, done: rusqlite::Result<T>) -> rusqlite::Result<T> {
        let error = done.as_ref().err().and_then(rusqlite::Error::sqlite_error);
        if let (Some(file), Some(error)) = (&self.file, error) {
            file.note(error.extended_code.unsigned_abs());
        }
        done
    }

    fn run<T>(
        &self,
        statement: &Statement,
        run: impl FnOnce(&mut rusqlite::Statement<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut prepared = self.inner.prepare_cached(&statement.sql)?;
        for (n, value) in statement.values.iter().flat_map(|values| &values.0).enumerate() {
            prepared.raw_bind_parameter(n + 1, Bound(value))?;
        }
        run(&mut prepared)
    }
}

/// Pauses, and returns whether a connection checks a lock once more.
#[expect(
    clippy::disallowed_methods,
    reason = "in the middle of a statement, where SQLite itself would block the thread"
)]
fn retries_lock(tries: i32) -> bool {
    std::thread::sleep(PAUSE);
    tries < LOCK_TRIES_MAX
}

/// Returns a path as a SQLite URI, whatever bytes its name has.
fn uri(path: &Path) -> String {
    use std::fmt::Write;

    let name = path.as_os_str().as_encoded_bytes();
    let authority = if name.starts_with(b"/") { "//" } else { "" };
    name.iter().fold(format!("file:{authority}"), |mut uri, &byte| {
        // Writing to a String cannot fail.
        let _ = match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                write!(uri, "{}", char::from(byte))
            }
            other => write!(uri, "%{other:02x}"),
        };
        uri
    })
}
