//! Whether what a database holds is whole: the pages of a SQLite file, and on PostgreSQL indexes and tables, where the extension
//! amcheck is there and may be used. Nothing is changed, and nothing of what is stored is told.

use std::path::Path;

use sea_orm::{ConnectionTrait, DbBackend, DbErr, QueryResult, Statement, TryGetable};

use super::connect::{self, ConnectError, Location, answered};
use super::look::statement;
use super::sqlite::Connection;

/// More than this is not told.
const TOLD_MAX: usize = 5;
/// SQLITE_CORRUPT and SQLITE_NOTADB, with whatever says more above the low byte.
const DAMAGED: [i32; 2] = [11, 26];
/// PostgreSQL's: data_corrupted, index_corrupted.
const CORRUPTED: [&str; 2] = ["XX001", "XX002"];

/// What a look found.
#[derive(Debug)]
pub enum Damage {
    /// Nothing is damaged: what was looked at.
    Whole(String),
    /// This is.
    Found(Vec<String>),
    /// Nobody could look: why.
    Unknown(&'static str),
}

/// Look at all of it, which takes as long as it takes to read it.
pub async fn damage(location: &Location) -> Result<Damage, ConnectError> {
    match location {
        Location::Sqlite { path } => of_file(path),
        Location::Postgres { url } => {
            let looker = connect::patient(url).await?;
            let found = of_server(&looker).await;
            looker.close().await?;
            Ok(found?)
        }
    }
}

fn of_file(path: &Path) -> Result<Damage, ConnectError> {
    if path.metadata().map_or(0, |file| file.len()) == 0 {
        return Ok(Damage::Whole("nothing is in it yet".into()));
    }
    let look = || {
        let connection = Connection::to_read(path)?;
        let sql = format!("PRAGMA quick_check({TOLD_MAX})");
        let rows = connection.query_all(&Statement::from_string(DbBackend::Sqlite, sql))?;
        rows.iter().map(|row| row.try_get::<String>("", "quick_check")).collect::<Result<Vec<_>, _>>()
    };
    match look() {
        Ok(said) if said == ["ok"] => Ok(Damage::Whole("every page of it is whole".into())),
        Ok(said) => {
            let lines = said.iter().flat_map(|said| said.lines()).filter(|line| !line.starts_with("***"));
            Ok(Damage::Found(lines.take(TOLD_MAX).map(str::to_owned).collect()))
        }
        // What SQLite says then may have bytes of the file in it.
        Err(error) if is_damage(&error) => Ok(Damage::Found(vec!["it cannot be read as a database".into()])),
        Err(error) => Err(error.into()),
    }
}

/// Whether SQLite refuses because the file is damaged.
pub(super) fn is_damage(error: &DbErr) -> bool {
    let code = answered(error).and_then(|code| code.parse::<i32>().ok());
    code.is_some_and(|code| DAMAGED.contains(&(code & 0xff)))
}

async fn of_server(looker: &impl ConnectionTrait) -> Result<Damage, DbErr> {
    let Some(schema) = one::<String>(
        looker,
        "SELECT quote_ident(n.nspname) AS one FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace \
         WHERE e.extname = 'amcheck'",
    )
    .await?
    else {
        return Ok(Damage::Unknown("the extension amcheck is not there"));
    };
    let may_use = async |function: &str| {
        let sql = format!(
            "SELECT COALESCE(has_function_privilege(to_regprocedure('{schema}.{function}'), 'EXECUTE'), false) AS one"
        );
        Ok::<_, DbErr>(one::<bool>(looker, &sql).await? == Some(true))
    };
    if !may_use("bt_index_check(regclass)").await? {
        return Ok(Damage::Unknown("its user may not use the extension amcheck"));
    }
    looker.execute_unprepared("SET lock_timeout = '10s'").await?;
    let mut damaged = Vec::new();
    let indexes = named(
        looker,
        "SELECT CAST(c.oid AS BIGINT) AS id, c.relname::text AS name FROM pg_class c \
         JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree' \
         JOIN pg_index i ON i.indexrelid = c.oid AND i.indisready AND i.indisvalid \
         WHERE c.relkind = 'i' AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname",
    )
    .await?;
    for (id, name) in &indexes {
        let checked = one_row(looker, &format!("SELECT {schema}.bt_index_check({id}::regclass)")).await;
        if is_corrupted(checked)? {
            damaged.push(format!("the index {name}"));
        }
    }
    // From release 14 on.
    let mut tables = Vec::new();
    if may_use("verify_heapam(regclass, boolean, boolean, text, bigint, bigint)").await? {
        tables = named(
            looker,
            "SELECT CAST(c.oid AS BIGINT) AS id, c.relname::text AS name FROM pg_class c \
             WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname",
        )
        .await?;
    }
    for (id, name) in &tables {
        let checked =
            one_row(looker, &format!("SELECT 1 FROM {schema}.verify_heapam({id}::regclass) LIMIT 1")).await;
        if matches!(checked, Ok(Some(_))) || is_corrupted(checked)? {
            damaged.push(format!("the table {name}"));
        }
    }
    if damaged.is_empty() {
        return Ok(Damage::Whole(format!("{} indexes and {} tables are whole", indexes.len(), tables.len())));
    }
    damaged.truncate(TOLD_MAX);
    Ok(Damage::Found(damaged))
}

/// Whether the look ended with the damage that it is for.
fn is_corrupted(checked: Result<Option<QueryResult>, DbErr>) -> Result<bool, DbErr> {
    match checked {
        Ok(_) => Ok(false),
        Err(error) if answered(&error).is_some_and(|code| CORRUPTED.contains(&code.as_str())) => Ok(true),
        Err(error) => Err(error),
    }
}

async fn named(looker: &impl ConnectionTrait, sql: &str) -> Result<Vec<(i64, String)>, DbErr> {
    let rows = looker.query_all_raw(statement(looker, sql)).await?;
    rows.iter().map(|row| Ok((row.try_get("", "id")?, row.try_get("", "name")?))).collect()
}

async fn one_row(looker: &impl ConnectionTrait, sql: &str) -> Result<Option<QueryResult>, DbErr> {
    looker.query_one_raw(statement(looker, sql)).await
}

async fn one<T: TryGetable>(looker: &impl ConnectionTrait, sql: &str) -> Result<Option<T>, DbErr> {
    one_row(looker, sql).await?.map(|row| row.try_get("", "one")).transpose()
}
