//! Opens a database: its connection pools, its schema, and the check that it is ours.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::durable_fs::{self, NoFolder};
use base::mutex::lock;
use base::platform;
use base::progress::Progress;
use migration::{Migrator, MigratorTrait, RECORD};
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbBackend, DbErr, QueryResult, RuntimeErr,
    Statement, sqlx,
};

use crate::citus::distributed;
use crate::either::{Either, Origin, Reading};
use crate::limits::{GROUPS_MAX, PROVING_BYTES};
use crate::location::Location;
use crate::postgres::pool::PostgresPool;
use crate::postgres::probe::probe;
use crate::sqlite::{self, Connection, DatabaseFile, FileLock, Readers, SqliteAdapter, WriteConnection};
use crate::statement_observer::watched;
use crate::statements::Statements;

/// An error that makes a database unusable, in one line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The text is no database URL.
    #[error("the database URL must begin with sqlite: or postgres://")]
    Scheme,
    /// The URL names no file of SQLite: a database in memory would be gone with the server.
    #[error("the database URL names no file")]
    NoName,
    /// Another server holds the file.
    #[error("the database {0} is in use by another server")]
    Locked(PathBuf),
    /// A server uses the file by another name.
    #[error(
        "the database {0} is in use by a server under another name of the file: give the name that the server has"
    )]
    OtherName(PathBuf),
    /// There is no room for the index of a log, for a newer schema or for a copy.
    #[error("the disk is full: make room, and try again")]
    Full,
    /// The database holds tables of another program.
    #[error("the database has tables of another program; give card-payments its own database")]
    Foreign,
    /// The database belongs to the other environment.
    #[error("the database belongs to the {0} environment")]
    Environment(String),
    /// The file's folder cannot be used.
    #[error("{0}: {1}")]
    Folder(PathBuf, std::io::Error),
    /// The path of the file's folder names something else.
    #[error(transparent)]
    NoFolder(#[from] NoFolder),
    /// The path of the file names a folder.
    #[error("the database cannot be opened: {0} is a folder, not a file")]
    NoFile(PathBuf),
    /// There is no file, and the command makes none.
    #[error("there is no database {0}: name the server's folder by --data-dir or CARD_PAYMENTS_DATA_DIR")]
    Missing(PathBuf),
    /// This user may not write to the file.
    #[error("the database {0} cannot be written: {1}")]
    Unwritable(PathBuf, std::io::Error),
    /// The file is not, or is no longer, a database.
    #[error("the database {0} is damaged: it cannot be read as a database")]
    Damaged(PathBuf),
    /// The schema has migrations that this release does not know.
    #[error("the database's schema is of a later release: {}", .0.join(", "))]
    Later(Vec<String>),
    /// The schema was made before the first release.
    #[error("the database's schema is older than the first release, and no release reads it")]
    Unreleased,
    /// The database is a copy that was cut off, or that differs from its source.
    #[error("the database is an unfinished copy of another one")]
    UnfinishedCopy,
    /// The node is no coordinator, and only that one changes the schema, or is copied into.
    #[error("the database is on a worker of a cluster: name the cluster's coordinator")]
    Worker,
    /// `copy --follow` has moved the installation.
    #[error("the installation has moved to {0}")]
    Moved(String),
    /// No PostgreSQL answers at the address.
    #[error("no PostgreSQL answers at {0}: {1}")]
    Unreachable(String, String),
    /// PostgreSQL answers and refuses the connection.
    #[error("PostgreSQL at {0} refuses: {1}")]
    Refused(String, String),
    /// The system cannot start the writer's thread.
    #[error("the writer thread cannot be started: {0}")]
    Thread(std::io::Error),
    /// The database returned an error.
    #[error("the database cannot be opened: {0}")]
    Database(#[source] DbErr),
}

impl From<DbErr> for ConnectError {
    fn from(error: DbErr) -> Self {
        if is_full(&error) { Self::Full } else { Self::Database(error) }
    }
}

impl ConnectError {
    /// The remedy for a damaged database.
    pub const RESTORE: &str = "stop its server, keep a copy of the file, and restore the last backup";

    /// Returns the error for migrations that this release does not know.
    pub fn unknown(steps: &[String]) -> Self {
        const FIRST_UNRELEASED: &str = "m0001_accounts";
        let released = steps.iter().all(|step| step != FIRST_UNRELEASED);
        if released { Self::Later(steps.to_vec()) } else { Self::Unreleased }
    }

    /// Returns the remedy for the error.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Scheme | Self::NoName => "name a file or a server",
            Self::Locked(_) => "stop that server, or name another file",
            Self::OtherName(_) => "give the name that the server has",
            Self::Full => "make room",
            Self::Environment(_) => "name the right database, or the right CARD_PAYMENTS_ENVIRONMENT",
            Self::Folder(..) | Self::Unwritable(..) => {
                "make the server's user its owner, and mount its disk for writing"
            }
            Self::NoFolder(_) | Self::Missing(_) => "name another CARD_PAYMENTS_DATA_DIR, or another file",
            Self::Damaged(_) => Self::RESTORE,
            Self::UnfinishedCopy => {
                "run card-payments copy again, which continues it, or name another database"
            }
            Self::Moved(_) => {
                "name that database; a copy that was cut off on its way there continues, or ends with --cancel"
            }
            Self::Later(_) => "run that release, or restore a backup that this one has made",
            Self::Unreleased => "begin with an empty database",
            Self::Unreachable(..) | Self::Refused(..) => {
                "see that it runs, and that address, user and password are right"
            }
            Self::Worker => "name the coordinator; servers may name a worker once the schema is up to date",
            Self::NoFile(_) | Self::Foreign | Self::Thread(_) | Self::Database(_) => {
                "name another database, or bring back the one that belongs there; in pg_stat_activity see whether somebody keeps \
                 its tables locked"
            }
        }
    }
}

/// A callback for each migration that has run, with the number of remaining ones.
type OnStep<'a> = &'a (dyn Fn(&str, usize) + Sync);

/// Runs the migrations that the database lacks, and returns their names.
pub async fn migrate<M: MigratorTrait>(
    location: &Location,
    progress: &dyn Progress,
) -> Result<Vec<String>, ConnectError> {
    let ran = Mutex::new(Vec::new());
    let on_step = |step: &str, left| {
        let mut ran = lock(&ran);
        ran.push(step.to_owned());
        progress.set_total((ran.len() + left) as u64);
        progress.set_done(ran.len() as u64);
    };
    match location {
        Location::Sqlite { path } => {
            drop(prepared_file::<M>(&Arc::new(DatabaseFile::open(path, None)?), &on_step).await?);
        }
        Location::Postgres { url } => {
            let database = patient(url).await?;
            prepare::<M>(&database, &on_step).await?;
            database.close().await?;
        }
    }
    Ok(std::mem::take(&mut *lock(&ran)))
}

/// Opens and migrates a file of ours. Returns the connection that writes to it and, if the file can only be read, the reason
/// why it cannot be written.
async fn prepared_file<M: MigratorTrait>(
    file: &Arc<DatabaseFile>,
    on_step: OnStep<'_>,
) -> Result<(WriteConnection, Option<String>), ConnectError> {
    let path = file.path();
    refuse_foreign_file(path)?;
    // Turns on the write-ahead log.
    let connection = Connection::open(file)?;
    // Writes of a killed server that reached the log but were not flushed are still readable from the system's cache. They
    // have to be on the disk before a client sees them, because it may rely on them. Where the disk is full, the log was
    // flushed before the database file could not grow.
    let full = match connection.execute_all("PRAGMA wal_checkpoint") {
        Err(error) if is_full(&error) => Some(lacks_room(path).unwrap_or_else(|| "the disk is full".into())),
        done => done.map(|_| lacks_room(path))?,
    };
    let writing = WriteConnection::on(connection);
    sqlite::migrate::<M>(&writing, on_step).await?;
    Ok((writing, full))
}

/// Opens the database; a server passes its lock. Also returns why the database cannot be written, if it can only be read.
pub(crate) async fn open(
    location: &Location,
    lock: Option<&FileLock>,
    statements: &Arc<Statements>,
) -> Result<(Reading, Origin, Option<String>), ConnectError> {
    match location {
        Location::Sqlite { path } => {
            let file = Arc::new(DatabaseFile::open(path, lock)?);
            let (writing, full) = prepared_file::<Migrator>(&file, &|_, _| ()).await?;
            Ok((
                Either::Sqlite(SqliteAdapter(Readers::new(&file))),
                Either::Sqlite(SqliteAdapter(writing)),
                full,
            ))
        }
        Location::Postgres { url } => {
            let pool = watched(postgres(url).await?);
            let both = PostgresPool::new(pool, POSTGRES_STATEMENTS, Arc::clone(statements));
            if lacks_steps::<Migrator>(&both).await? {
                migrate::<Migrator>(location, &()).await?;
            }
            Ok((Either::Postgres(both.clone()), Either::Postgres(both), None))
        }
    }
}

/// Returns whether SQLite found no room, in its files or for the index of its log.
fn is_full(error: &DbErr) -> bool {
    const FULL: [&str; 2] = ["13", "4874"];
    answered(error).is_some_and(|code| FULL.contains(&code.as_str()))
}

/// Describes a disk that lacks room for payments. If the system does not tell its free space, it counts as having room.
pub(crate) fn lacks_room(path: &Path) -> Option<String> {
    let folder = durable_fs::folder_of(path);
    let free = platform::free_bytes(folder).ok()?;
    let needed = u64::try_from(PROVING_BYTES).unwrap_or(u64::MAX);
    (free < needed).then(|| format!("the disk is full: {} KiB are free at {}", free / 1024, folder.display()))
}

/// Checks that a PostgreSQL database is ours, and migrates its schema.
pub(crate) async fn prepare<M: MigratorTrait>(
    database: &DatabaseConnection,
    on_step: OnStep<'_>,
) -> Result<(), ConnectError> {
    if !lacks_steps::<M>(database).await? {
        return Ok(());
    }
    refuse_worker(database).await?;
    Ok(run::<M>(database, on_step).await?)
}

/// Checks that a database is ours. Returns whether it lacks steps: the migrator itself looks with many statements.
async fn lacks_steps<M: MigratorTrait>(database: &impl ConnectionTrait) -> Result<bool, ConnectError> {
    let recorded =
        if refuse_foreign(database).await? { migration::read_record(database).await? } else { Vec::new() };
    Ok(!migration::missing::<M>(&recorded).is_empty())
}

/// Refuses a worker of a cluster: a table that it creates is only its own.
pub(crate) async fn refuse_worker(database: &impl ConnectionTrait) -> Result<(), ConnectError> {
    if distributed::is_worker(database).await? { Err(ConnectError::Worker) } else { Ok(()) }
}

/// Runs the migrations. Retries after a conflict with a server that serves requests, or with a migrator that takes no lock: it may
/// have run the migration. A server that always loses has lost once per migration. For a table that a dump or another long statement
/// uses, it tries without end: other servers use the table meanwhile.
async fn run<M: MigratorTrait>(database: &DatabaseConnection, on_step: OnStep<'_>) -> Result<(), DbErr> {
    const OTHER_TRIES: usize = 20;
    const PAUSE: Duration = Duration::from_millis(100);
    const PAUSE_WHILE_IN_USE: Duration = Duration::from_secs(2);

    let (mut tries, mut has_warned) = (0, false);
    loop {
        let error = match migration::run::<M>(database, on_step).await {
            Err(error @ (DbErr::Exec(_) | DbErr::Query(_))) => error,
            done => return done,
        };
        if answered(&error).as_deref() == Some(LOCK_NOT_AVAILABLE) {
            if !has_warned {
                tracing::warn!(%error, "a migration waits for a table that another statement uses: see pg_stat_activity");
            }
            has_warned = true;
            tokio::time::sleep(PAUSE_WHILE_IN_USE).await;
        } else if tries < M::migrations().len() + OTHER_TRIES {
            tracing::debug!(%error, "a migration lost a race");
            tries += 1;
            tokio::time::sleep(PAUSE).await;
        } else {
            return Err(error);
        }
    }
}

/// The size of the pool. Measured: eight connections to two database cores were as fast as thirty-two; other statements wait
/// in our queue, which is fairer.
pub(crate) const POSTGRES_CONNECTIONS: u32 = 16;
/// Of these, one listens to other copies.
const POSTGRES_LISTENERS: u32 = 1;
/// And these are for statements; others are for long reads, and for group commit.
const POSTGRES_STATEMENTS: usize = 12 - GROUPS_MAX as usize;
/// The statements cached per connection: all that a server sends, so that none is parsed twice on a connection.
pub(crate) const POSTGRES_CACHED: usize = 512;
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// Saves a round trip per request; the first statement notices a dead connection.
pub(crate) const TESTED_AFTER_IDLE: Duration = Duration::from_secs(30);
pub(crate) const PLANNED_ANEW_AFTER: Duration = Duration::from_mins(1);
/// The time within which a database that is there answers a statement: longer than [`TIMEOUTS`] let it run, shorter than a request.
/// Without it, a machine that has vanished is noticed when the system gives up sending to it, after a quarter of an hour.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(40);
/// The same for a statement without time-outs of the database's: of a settlement, a restore or an import. A database that is not dead but
/// takes longer goes on with it, holds its locks, and then undoes it.
pub(crate) const LONG_ANSWER_TIMEOUT: Duration = Duration::from_mins(10);
/// The same for a statement that does nothing.
pub(crate) const PING_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn options(url: &str, connections: u32) -> ConnectOptions {
    let mut options = ConnectOptions::new(url);
    options
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .max_lifetime(None::<Duration>)
        .idle_timeout(None::<Duration>)
        .sqlx_logging(false)
        .record_stmt_in_spans(false)
        .test_before_acquire_if_idle_for(TESTED_AFTER_IDLE);
    options
}

/// The time-outs of connections that serve requests or checks, so that none waits for ever: for a lock, for a statement that
/// does not end, or for a server that stopped within its transaction. All of them end before the time-out of a request, also
/// where a payment waits twice for a connection before it waits for the lock.
pub(crate) const TIMEOUTS: [(&str, &str); 3] =
    [("lock_timeout", "5s"), ("statement_timeout", "30s"), ("idle_in_transaction_session_timeout", "30s")];

/// The settings by which statements are planned, whatever PostgreSQL knows of its tables: a page is read in the order of its
/// index, which is mostly in memory. PostgreSQL supposes a disk on which the next row of an index costs four times that of the
/// table. Before it has counted an account's rows, it would therefore rather read and sort all of them. Its guesses also make it
/// compile plans in vain.
pub(crate) const OF_PLANS: [(&str, &str); 2] = [("random_page_cost", "1"), ("jit", "off")];

/// A distributed PostgreSQL: a query over all shards takes one connection to each node. It would open more for each look for due
/// work, and close them. Without the extension PostgreSQL ignores it.
const OF_CITUS: [(&str, &str); 1] = [("citus.max_adaptive_executor_pool_size", "1")];

pub(crate) async fn postgres(url: &str) -> Result<DatabaseConnection, ConnectError> {
    let mut options = options(url, POSTGRES_CONNECTIONS - POSTGRES_LISTENERS - u32::from(GROUPS_MAX));
    options.map_sqlx_postgres_opts(|postgres| {
        let postgres = postgres.options(TIMEOUTS).options(OF_PLANS).options(OF_CITUS);
        postgres.statement_cache_capacity(POSTGRES_CACHED)
    });
    Ok(Database::connect(options).await?)
}

/// The settings by which the connections of group commit plan and wait. Each statement finds its rows by primary keys, by one plan
/// for groups of all sizes: made while a table is empty, another plan would read all of it later. A group that waits for a row is
/// written unit by unit, so that no unit waits for another unit's row.
const OF_GROUPS: [(&str, &str); 5] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("lock_timeout", "200ms"),
];

/// Returns the connections of group commit, which connect when they are first needed.
pub(crate) async fn for_groups(url: &str, statements: Arc<Statements>) -> Result<PostgresPool, ConnectError> {
    let mut options = options(url, GROUPS_MAX.into());
    options.connect_lazy(true).map_sqlx_postgres_opts(|postgres| {
        let postgres = postgres.options(TIMEOUTS).options(OF_PLANS).options(OF_GROUPS);
        postgres.statement_cache_capacity(POSTGRES_CACHED)
    });
    Ok(PostgresPool::new(Database::connect(options).await?, GROUPS_MAX.into(), statements))
}

/// Connects with time-outs, to read what other connections may have locked.
pub(crate) async fn impatient(url: &str) -> Result<DatabaseConnection, ConnectError> {
    probe(url).await?;
    let mut options = options(url, 1);
    options.map_sqlx_postgres_opts(|postgres| postgres.options(TIMEOUTS));
    Ok(Database::connect(options).await?)
}

/// Connects without time-outs.
pub(crate) async fn patient(url: &str) -> Result<DatabaseConnection, ConnectError> {
    probe(url).await?;
    Ok(Database::connect(options(url, 1)).await?)
}

/// Refuses a path that cannot be a database or that this user cannot write to: checks the existing part of the file and of
/// the folders above it.
pub(crate) fn refuse_unusable(path: &Path) -> Result<(), ConnectError> {
    if path.is_dir() {
        return Err(ConnectError::NoFile(path.into()));
    }
    if let Some(folder) = path.parent() {
        durable_fs::refuse_other(folder)?;
    }
    if path.exists() {
        // Opening for writing changes nothing.
        let opened = File::options().write(true).open(path);
        opened.map_err(|error| ConnectError::Unwritable(path.into(), error))?;
    }
    Ok(())
}

/// Refuses another program's file. It is inspected before, because turning on the write-ahead log changes the file itself.
pub(crate) fn refuse_foreign_file(path: &Path) -> Result<(), ConnectError> {
    if !path.exists() {
        return Ok(());
    }
    refuse_others(Connection::to_look_at(path)?.query_one(&count_tables(DbBackend::Sqlite))?).map(drop)
}

/// Connects to an existing file without changing its settings.
pub(crate) fn connect_read_only(path: &Path) -> Result<SqliteAdapter<WriteConnection>, ConnectError> {
    Ok(SqliteAdapter(WriteConnection::on(Connection::to_look_at(path)?)))
}

/// Refuses a database that has tables but not our record of migrations: another program owns it. Returns whether
/// the record exists.
pub(crate) async fn refuse_foreign(connection: &impl ConnectionTrait) -> Result<bool, ConnectError> {
    refuse_others(connection.query_one_raw(count_tables(connection.get_database_backend())).await?)
}

fn count_tables(backend: DbBackend) -> Statement {
    let (tables, name) = if backend == DbBackend::Postgres {
        ("pg_tables WHERE schemaname = current_schema()", "tablename")
    } else {
        ("sqlite_master WHERE type = 'table'", "name")
    };
    let sql = format!(
        "SELECT count(*) AS tables, count(*) FILTER (WHERE {name} = '{RECORD}') AS ours FROM {tables}"
    );
    Statement::from_string(backend, sql)
}

fn refuse_others(tables: Option<QueryResult>) -> Result<bool, ConnectError> {
    let (tables, ours) = match tables {
        Some(row) => (row.try_get::<i64>("", "tables")?, row.try_get::<i64>("", "ours")?),
        None => (0, 0),
    };
    if tables > 0 && ours == 0 { Err(ConnectError::Foreign) } else { Ok(ours > 0) }
}

/// The code of PostgreSQL's refusal to wait any longer for a lock.
pub(crate) const LOCK_NOT_AVAILABLE: &str = "55P03";

/// Returns the code of an error that the database itself returned.
pub(crate) fn answered(error: &DbErr) -> Option<String> {
    answer(error)?.code().map(Into::into)
}

/// Returns whether an insert into a table failed because a row with the same key was there.
pub(crate) fn taken(error: &DbErr, table: &str) -> bool {
    answer(error).is_some_and(|answer| {
        // SQLite names the columns, or an index of expressions, only in its message, Citus the constraint of its shard.
        let mentions = |name: String| answer.message().contains(&name);
        let of_table = answer.table() == Some(table)
            || mentions(format!(" {table}."))
            || mentions(format!("\"{table}_"))
            || mentions(format!("'{table}_"));
        answer.is_unique_violation() && of_table
    })
}

fn answer(error: &DbErr) -> Option<&dyn sqlx::error::DatabaseError> {
    let (DbErr::Exec(RuntimeErr::SqlxError(error)) | DbErr::Query(RuntimeErr::SqlxError(error))) = error
    else {
        return None;
    };
    if let sqlx::Error::Database(answer) = &**error { Some(answer.as_ref()) } else { None }
}
