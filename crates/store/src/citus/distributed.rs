//! Distributes the tables of a Citus coordinator over its workers, for load beyond one PostgreSQL (design, The store). Rows
//! of an account are colocated with it; rows that are found without an account are distributed by their own key.

use base::progress::Progress;
use migration::{Migrator, RECORD};
use sea_orm::{ConnectionTrait, DbBackend, DbErr, Statement};

use crate::citus::unit_call;
use crate::connect::{self, ConnectError};
use crate::location::Location;

/// The placement of a table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Accounts, by their id: all other rows of an account follow it.
    Accounts,
    /// Colocated with their account.
    Account,
    /// Distributed by the keyed hash that finds them.
    Hash,
    /// Replicated on every node.
    Everywhere,
}

/// An error that keeps a database from being distributed, in one line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum NotDistributed {
    /// The database is a SQLite file.
    #[error("a SQLite database cannot be distributed: that takes a PostgreSQL with the Citus extension")]
    Sqlite,
    /// The PostgreSQL lacks the Citus extension.
    #[error(
        "the database has no Citus extension: CREATE EXTENSION citus, and add the workers, before it is distributed"
    )]
    NoCitus,
    /// The table has a primary key for which no placement is known.
    #[error(
        "the table {0} has no place in a distributed database: its primary key begins with none that is known"
    )]
    NoPlace(String),
    /// The database cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The database returned an error.
    #[error("the database cannot be distributed: {0}")]
    Database(#[from] DbErr),
}

impl Place {
    /// Returns the placement of a table by the first column of its primary key; an error if it has none. Every request looks up
    /// its key, which must not take another worker than the account's.
    pub fn for_table(table: &str, key: Option<&str>) -> Result<Self, NotDistributed> {
        match (table, key) {
            ("accounts", _) => Ok(Self::Accounts),
            (
                "acquirer_statements"
                | "api_keys"
                | "approvals"
                | "audit_entries"
                | "ended_sessions"
                | "installation"
                | "person_sessions"
                | "reconciliation_exceptions"
                | "statement_lines"
                | "vault_keys"
                | RECORD,
                _,
            ) => Ok(Self::Everywhere),
            (_, Some("account_id")) => Ok(Self::Account),
            (_, Some("hash")) => Ok(Self::Hash),
            _ => Err(NotDistributed::NoPlace(table.to_owned())),
        }
    }

    /// Returns the statement that distributes a table, including its existing rows.
    fn statement(self, table: &str) -> String {
        let (column, beside) = match self {
            Self::Everywhere => return format!("SELECT create_reference_table('{table}')"),
            Self::Accounts => ("id", "none"),
            Self::Account => ("account_id", "accounts"),
            Self::Hash => ("hash", "none"),
        };
        format!("SELECT create_distributed_table('{table}', '{column}', colocate_with => '{beside}')")
    }
}

/// Migrates the schema and distributes every table that is not distributed yet. Returns the tables distributed now.
///
/// Distributes one table at a time, each atomically, so that a run that is killed loses nothing and the next one continues.
/// Servers must be stopped meanwhile: half of the tables could not reach the other half.
pub async fn distribute(location: &Location, progress: &dyn Progress) -> Result<Vec<String>, NotDistributed> {
    let Location::Postgres { url } = location else { return Err(NotDistributed::Sqlite) };
    let database = connect::patient(url).await?;
    if !has_citus(&database).await? {
        return Err(NotDistributed::NoCitus);
    }
    connect::refuse_worker(&database).await?;
    connect::prepare::<Migrator>(&database, &|_, _| ()).await?;
    let mut tables = tables(&database).await?;
    // The other tables are colocated with the accounts, which come first.
    tables.sort_by_key(|table| table.place != Place::Accounts);
    let mut distributed = Vec::new();
    progress.set_total(tables.iter().filter(|table| !table.distributed).count() as u64);
    for table in tables.iter().filter(|table| !table.distributed) {
        database.execute_unprepared(&table.place.statement(&table.name)).await?;
        distributed.push(table.name.clone());
        progress.set_done(distributed.len() as u64);
    }
    unit_call::create_function(&database).await?;
    // The coordinator's own tables still hold the copied rows, which no query sees and which take room; a killed run may
    // have left some.
    for table in &tables {
        let empty = format!("SELECT truncate_local_data_after_distributing_table('{}')", table.name);
        database.execute_unprepared(&empty).await?;
    }
    Ok(distributed)
}

async fn has_citus(database: &impl ConnectionTrait) -> Result<bool, DbErr> {
    let sql =
        "SELECT 1 FROM pg_proc WHERE proname = 'create_distributed_table' AND pg_function_is_visible(oid)";
    let found = database.query_one_raw(Statement::from_string(DbBackend::Postgres, sql)).await?;
    Ok(found.is_some())
}

/// Returns whether the database is on a worker, which has the tables of its coordinator.
pub(crate) async fn is_worker(database: &impl ConnectionTrait) -> Result<bool, DbErr> {
    if !has_citus(database).await? {
        return Ok(false);
    }
    let sql = "SELECT 1 FROM pg_dist_local_group WHERE groupid <> 0";
    let found = database.query_one_raw(Statement::from_string(DbBackend::Postgres, sql)).await?;
    Ok(found.is_some())
}

/// Returns whether the tables are distributed over workers. A coordinator passes a whole statement on to the one worker that
/// has its account; it splits a statement that adds rows to several shards, and copies between them.
pub(crate) async fn is_distributed(database: &impl ConnectionTrait) -> Result<bool, DbErr> {
    if !has_citus(database).await? {
        return Ok(false);
    }
    let sql = "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'accounts'::regclass";
    let found = database.query_one_raw(Statement::from_string(DbBackend::Postgres, sql)).await?;
    Ok(found.is_some())
}

struct Table {
    name: String,
    place: Place,
    distributed: bool,
}

async fn tables(database: &impl ConnectionTrait) -> Result<Vec<Table>, NotDistributed> {
    let sql = "SELECT c.relname::text AS name, a.attname::text AS key, d.logicalrelid IS NOT NULL AS distributed \
               FROM pg_class c \
               LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary \
               LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] \
               LEFT JOIN pg_dist_partition d ON d.logicalrelid = c.oid \
               WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' ORDER BY c.relname";
    let rows = database.query_all_raw(Statement::from_string(DbBackend::Postgres, sql)).await?;
    let mut tables = Vec::new();
    for row in rows {
        let (name, key) = (row.try_get::<String>("", "name")?, row.try_get::<Option<String>>("", "key")?);
        let place = Place::for_table(&name, key.as_deref())?;
        tables.push(Table { name, place, distributed: row.try_get("", "distributed")? });
    }
    Ok(tables)
}
