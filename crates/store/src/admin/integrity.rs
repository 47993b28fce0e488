//! Integrity checks: the pages of a SQLite file; the indexes and tables of PostgreSQL, if its extension amcheck is installed
//! and the user may use it. The checks change nothing and report no stored data.

use std::path::Path;

use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult, Statement, TryGetable};

use crate::admin::installation_info::statement;
use crate::connect::{self, ConnectError, answered};
use crate::location::Location;
use crate::sqlite::Connection;

/// The maximum number of problems reported.
const REPORTED_MAX: usize = 5;
/// SQLITE_CORRUPT and SQLITE_NOTADB, compared with the low byte of an extended code.
const SQLITE_CORRUPTED: [i32; 2] = [11, 26];
/// SQLSTATEs data_corrupted and index_corrupted.
const POSTGRES_CORRUPTED: [&str; 2] = ["XX001", "XX002"];

/// The result of a check.
#[derive(Debug)]
pub enum Integrity {
    /// No corruption; the text says what was checked.
    Intact(String),
    /// The corrupted parts.
    Corrupted(Vec<String>),
    /// The reason why nothing was checked.
    NotChecked(&'static str),
}

/// Checks the whole database, which reads all of it.
pub async fn check_integrity(location: &Location) -> Result<Integrity, ConnectError> {
    match location {
        Location::Sqlite { path } => check_file(path),
        Location::Postgres { url } => {
            let connection = connect::patient(url).await?;
            let found = check_server(&connection).await;
            connection.close().await?;
            Ok(found?)
        }
    }
}

fn check_file(path: &Path) -> Result<Integrity, ConnectError> {
    if path.metadata().map_or(0, |file| file.len()) == 0 {
        return Ok(Integrity::Intact("nothing is in it yet".into()));
    }
    let check = || {
        let connection = Connection::to_read(path)?;
        let sql = format!("PRAGMA quick_check({REPORTED_MAX})");
        let rows = connection.query_all(&Statement::from_string(DbBackend::Sqlite, sql))?;
        rows.iter().map(|row| row.try_get::<String>("", "quick_check")).collect::<Result<Vec<_>, _>>()
    };
    match check() {
        Ok(reports) if reports == ["ok"] => Ok(Integrity::Intact("every page of it is whole".into())),
        Ok(reports) => {
            let lines =
                reports.iter().flat_map(|report| report.lines()).filter(|line| !line.starts_with("***"));
            Ok(Integrity::Corrupted(lines.take(REPORTED_MAX).map(str::to_owned).collect()))
        }
        // SQLite's own message may contain bytes of the file.
        Err(error) if is_corruption(&error) => {
            Ok(Integrity::Corrupted(vec!["it cannot be read as a database".into()]))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns whether SQLite failed because the file is corrupted.
pub(crate) fn is_corruption(error: &DbErr) -> bool {
    let code = answered(error).and_then(|code| code.parse::<i32>().ok());
    code.is_some_and(|code| SQLITE_CORRUPTED.contains(&(code & 0xff)))
}

async fn check_server(connection: &impl ConnectionTrait) -> Result<Integrity, DbErr> {
    let Some(schema) = one::<String>(
        connection,
        "SELECT quote_ident(n.nspname) AS one FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace \
         WHERE e.extname = 'amcheck'",
    )
    .await?
    else {
        return Ok(Integrity::NotChecked("the extension amcheck is not there"));
    };
    let may_use = async |function: &str| {
        let sql = format!(
            "SELECT COALESCE(has_function_privilege(to_regprocedure('{schema}.{function}'), 'EXECUTE'), false) AS one"
        );
        Ok::<_, DbErr>(one::<bool>(connection, &sql).await? == Some(true))
    };
    if !may_use("bt_index_check(regclass)").await? {
        return Ok(Integrity::NotChecked("its user may not use the extension amcheck"));
    }
    connection.execute_unprepared("SET lock_timeout = '10s'").await?;
    let mut corrupted = Vec::new();
    let indexes = named(
        connection,
        "SELECT CAST(c.oid AS BIGINT) AS id, c.relname::text AS name FROM pg_class c \
         JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree' \
         JOIN pg_index i ON i.indexrelid = c.oid AND i.indisready AND i.indisvalid \
         WHERE c.relkind = 'i' AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname",
    )
    .await?;
    for (id, name) in &indexes {
        let checked = one_row(connection, &format!("SELECT {schema}.bt_index_check({id}::regclass)")).await;
        if is_corrupted(checked)? {
            corrupted.push(format!("the index {name}"));
        }
    }
    // PostgreSQL has verify_heapam since release 14.
    let mut tables = Vec::new();
    if may_use("verify_heapam(regclass, boolean, boolean, text, bigint, bigint)").await? {
        tables = named(
            connection,
            "SELECT CAST(c.oid AS BIGINT) AS id, c.relname::text AS name FROM pg_class c \
             WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname",
        )
        .await?;
    }
    for (id, name) in &tables {
        let checked =
            one_row(connection, &format!("SELECT 1 FROM {schema}.verify_heapam({id}::regclass) LIMIT 1"))
                .await;
        if matches!(checked, Ok(Some(_))) || is_corrupted(checked)? {
            corrupted.push(format!("the table {name}"));
        }
    }
    if corrupted.is_empty() {
        return Ok(Integrity::Intact(format!(
            "{} indexes and {} tables are whole",
            indexes.len(),
            tables.len()
        )));
    }
    corrupted.truncate(REPORTED_MAX);
    Ok(Integrity::Corrupted(corrupted))
}

/// Returns whether a check found corruption.
fn is_corrupted(checked: Result<Option<QueryResult>, DbErr>) -> Result<bool, DbErr> {
    match checked {
        Ok(_) => Ok(false),
        Err(error) if answered(&error).is_some_and(|code| POSTGRES_CORRUPTED.contains(&code.as_str())) => {
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

async fn named(connection: &impl ConnectionTrait, sql: &str) -> Result<Vec<(i64, String)>, DbErr> {
    let rows = connection.query_all_raw(statement(connection, sql)).await?;
    rows.iter().map(|row| Ok((row.try_get("", "id")?, row.try_get("", "name")?))).collect()
}

async fn one_row(connection: &impl ConnectionTrait, sql: &str) -> Result<Option<QueryResult>, DbErr> {
    connection.query_one_raw(statement(connection, sql)).await
}

async fn one<T: TryGetable>(connection: &impl ConnectionTrait, sql: &str) -> Result<Option<T>, DbErr> {
    one_row(connection, sql).await?.map(|row| row.try_get("", "one")).transpose()
}
