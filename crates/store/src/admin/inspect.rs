//! Describes a database, to check whether a server may run on it. Changes nothing, not a byte of a file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base::clock::{Clock, SystemClock};
use entity::{TimeSpan, Timestamp};
use migration::Migrator;
use sea_orm::{
    AccessMode, ConnectionTrait, DbBackend, DbErr, FromQueryResult, IsolationLevel, Statement,
    TransactionTrait,
};

use crate::admin::installation_info::{InstallationInfo, found, is_installed, statement};
use crate::connect::{self, ConnectError, POSTGRES_CONNECTIONS};
use crate::location::Location;
use crate::sqlite::{self, Connection, SqliteAdapter, WriteConnection};

/// The description of a database.
#[derive(Debug)]
pub struct Inspection {
    /// The data of its tables about the installation.
    pub found: InstallationInfo,
    /// Migrations that it has not seen.
    pub missing: Vec<String>,
    /// Migrations that it has seen and this program does not know.
    pub unknown: Vec<String>,
    /// The creation time of its newest key, by the wall clock.
    pub youngest_key: Option<Timestamp>,
    /// The number of seals by the current data key.
    pub seals: Option<u64>,
    /// The kind of database, with its details.
    pub kind: DatabaseKind,
}

/// The kind of a database.
#[derive(Debug)]
pub enum DatabaseKind {
    /// A SQLite file.
    Sqlite(SqliteFile),
    /// A PostgreSQL server.
    Postgres(Box<PostgresServer>),
}

/// A SQLite file.
#[derive(Debug)]
pub struct SqliteFile {
    /// As it was configured.
    pub path: PathBuf,
    /// Its size, if it exists.
    pub bytes: Option<u64>,
    /// Whether its write-ahead log is on.
    pub logs_ahead: bool,
    /// Whether a server runs on it.
    pub served: bool,
    /// The error that prevents writing.
    pub unwritable: Option<ConnectError>,
}

/// A PostgreSQL server, with the rights of our user.
#[derive(Debug)]
pub struct PostgresServer {
    /// Its settings and state.
    pub report: PostgresReport,
    /// The lead of its clock over ours.
    pub ahead: TimeSpan,
    /// The uncertainty of the lead: half of the query's time.
    pub give_or_take: TimeSpan,
    /// The number of connections that each server opens.
    pub wanted: i64,
}

/// The settings and state that PostgreSQL reports.
#[derive(Debug, FromQueryResult)]
pub struct PostgresReport {
    /// As PostgreSQL writes it, such as `15.4 (Debian 15.4-1)`.
    pub version: String,
    /// The version as a number, such as 150004.
    pub release: i64,
    now: i64,
    /// The setting that decides whether writes are flushed to the disk.
    pub fsync: String,
    /// The setting that decides whether a commit waits for the flush.
    pub synchronous_commit: String,
    /// The setting that decides whether torn pages are repaired.
    pub full_page_writes: String,
    /// The setting that decides whether transactions are read-only by default.
    pub read_only: String,
    /// The encoding; any but UTF8 cannot hold every text.
    pub encoding: String,
    /// Whether it replicates another server.
    pub standby: bool,
    /// The connections allowed to all users together.
    pub connections: i64,
    /// The open connections, including this one.
    pub taken: i64,
    /// The connections allowed to our user; negative: unlimited.
    pub of_role: i64,
    /// The connections allowed to the database.
    pub of_database: i64,
    /// Whether our user may create tables here.
    pub may_create: bool,
    /// Whether our user may create trusted extensions.
    pub may_extend: bool,
    /// The number of our extensions that are missing.
    pub extensions_missing: i64,
    /// The number of our extensions that are not even installed on its machine.
    pub extensions_unavailable: i64,
    /// The number of tables that other users own.
    pub tables_of_others: i64,
}

const REPORT: &str = "\
    SELECT current_setting('server_version') AS version, \
    CAST(current_setting('server_version_num') AS BIGINT) AS release, \
    CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now, \
    current_setting('fsync') AS fsync, \
    current_setting('synchronous_commit') AS synchronous_commit, \
    current_setting('full_page_writes') AS full_page_writes, \
    current_setting('default_transaction_read_only') AS read_only, \
    current_setting('server_encoding') AS encoding, \
    pg_is_in_recovery() AS standby, \
    CAST(current_setting('max_connections') AS BIGINT) \
        - CAST(current_setting('superuser_reserved_connections') AS BIGINT) AS connections, \
    CAST((SELECT COALESCE(sum(numbackends), 0) FROM pg_stat_database) AS BIGINT) AS taken, \
    CAST(r.rolconnlimit AS BIGINT) AS of_role, \
    CAST(d.datconnlimit AS BIGINT) AS of_database, \
    COALESCE(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create, \
    has_database_privilege(current_database(), 'CREATE') AS may_extend, \
    2 - (SELECT count(*) FROM pg_extension WHERE extname IN ('pg_trgm', 'btree_gin')) AS extensions_missing, \
    2 - (SELECT count(*) FROM pg_available_extensions WHERE name IN ('pg_trgm', 'btree_gin')) AS extensions_unavailable, \
    (SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() \
        AND NOT pg_has_role(tableowner, 'USAGE')) AS tables_of_others \
    FROM pg_roles r, pg_database d WHERE r.rolname = current_user AND d.datname = current_database()";

/// Inspects a database of any release; one that does not exist yet is empty.
pub async fn inspect(location: &Location, clock: &dyn Clock) -> Result<Inspection, ConnectError> {
    match location {
        Location::Sqlite { path } => inspect_file(path).await,
        Location::Postgres { url } => {
            let server = connect::impatient(url).await?;
            let level = Some(IsolationLevel::RepeatableRead);
            let connection = server.begin_with_config(level, Some(AccessMode::ReadOnly)).await?;
            let started = clock.elapsed();
            let row = connection.query_one_raw(Statement::from_string(DbBackend::Postgres, REPORT)).await?;
            let row = row.ok_or_else(|| DbErr::RecordNotFound("pg_database".into()))?;
            let (report, took) =
                (PostgresReport::from_query_result(&row, "")?, clock.elapsed().saturating_sub(started));
            let give_or_take = TimeSpan::from_millis(i64::try_from(took.as_millis() / 2).unwrap_or(i64::MAX));
            // The database has the machine's time, whatever time tests run as of.
            let now = Timestamp::from_millis(report.now) + SystemClock::ahead();
            let ahead = now - (clock.now() - give_or_take);
            let wanted = POSTGRES_CONNECTIONS.into();
            let kind =
                DatabaseKind::Postgres(Box::new(PostgresServer { report, ahead, give_or_take, wanted }));
            let inspection = with_contents(&connection, kind).await;
            connection.rollback().await?;
            server.close().await?;
            inspection
        }
    }
}

async fn inspect_file(path: &Path) -> Result<Inspection, ConnectError> {
    if path.is_dir() {
        return Err(ConnectError::NoFile(path.into()));
    }
    sqlite::refuse_other_name(path)?;
    let bytes = path.metadata().ok().map(|file| file.len());
    let file = SqliteFile {
        path: path.into(),
        bytes,
        logs_ahead: logs_ahead(path),
        served: sqlite::is_served(path),
        unwritable: connect::refuse_unusable(path).err(),
    };
    let kind = DatabaseKind::Sqlite(file);
    if bytes.is_none_or(|bytes| bytes == 0) {
        return Ok(Inspection {
            found: InstallationInfo::default(),
            missing: migration::names::<Migrator>(),
            unknown: Vec::new(),
            youngest_key: None,
            seals: None,
            kind,
        });
    }
    // SQLite does not say why a file cannot be opened.
    File::open(path).map_err(|error| ConnectError::Unwritable(path.into(), error))?;
    with_contents(&SqliteAdapter(WriteConnection::on(Connection::to_read(path)?)), kind).await
}

async fn with_contents(
    connection: &impl ConnectionTrait,
    kind: DatabaseKind,
) -> Result<Inspection, ConnectError> {
    let found = found(connection).await?;
    let (missing, unknown) = missing_and_unknown(connection).await?;
    let (mut youngest_key, mut seals) = (None, None);
    if is_installed(connection).await? {
        let sql = "SELECT MAX(created_at) AS youngest, \
                   MAX(CASE WHEN purpose = 'data' AND remove_at IS NULL THEN seals END) AS seals FROM vault_keys";
        if let Some(row) = connection.query_one_raw(statement(connection, sql)).await? {
            youngest_key = row.try_get::<Option<i64>>("", "youngest")?.map(Timestamp::from_millis);
            seals = row.try_get::<Option<i64>>("", "seals")?.and_then(|seals| u64::try_from(seals).ok());
        }
    }
    Ok(Inspection { found, missing, unknown, youngest_key, seals, kind })
}

/// Returns the migrations that the database lacks, and those that it has and this release does not know.
pub(crate) async fn missing_and_unknown(
    connection: &impl ConnectionTrait,
) -> Result<(Vec<String>, Vec<String>), DbErr> {
    let mut unknown = migration::recorded(connection).await?;
    let missing = migration::missing::<Migrator>(&unknown);
    let known = migration::names::<Migrator>();
    unknown.retain(|step| !known.contains(step));
    Ok((missing, unknown))
}

/// Returns whether the write-ahead log is on, by the two versions in the file's header.
fn logs_ahead(path: &Path) -> bool {
    let mut head = [0; 20];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head[18..] == [2, 2]
}
