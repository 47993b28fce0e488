//! Growing past one PostgreSQL: the tables of a Citus coordinator, spread over its workers (design, The store). What
//! belongs to an account lies beside it; what is found without an account lies by its own key.

use sea_orm::{ConnectionTrait, DbBackend, DbErr, Statement};

use super::connect::{self, ConnectError, Location};
use crate::runtime::progress::Progress;

/// Where the rows of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Accounts, by their id: everything else of theirs follows them.
    Accounts,
    /// Beside their account.
    Account,
    /// By the keyed hash by which they are found.
    Hash,
    /// On every node.
    Everywhere,
}

/// Why a database is not distributed, in one line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum NotDistributed {
    /// It is a file.
    #[error("a SQLite database cannot be distributed: that takes a PostgreSQL with the Citus extension")]
    Sqlite,
    /// A plain PostgreSQL.
    #[error(
        "the database has no Citus extension: CREATE EXTENSION citus, and add the workers, before it is distributed"
    )]
    NoCitus,
    /// A table of which this program does not know where its rows belong.
    #[error(
        "the table {0} has no place in a distributed database: its primary key begins with none that is known"
    )]
    NoPlace(String),
    /// It cannot be used at all.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The database says no.
    #[error("the database cannot be distributed: {0}")]
    Database(#[from] DbErr),
}

impl Place {
    /// Where a table's rows belong, by the first column of its primary key. Err: nowhere. None: they stay on the
    /// coordinator, which alone is migrated.
    pub fn of(table: &str, key: Option<&str>) -> Result<Option<Self>, NotDistributed> {
        match (table, key) {
            ("seaql_migrations", _) => Ok(None),
            ("accounts", _) => Ok(Some(Self::Accounts)),
            ("audit_entries" | "installation" | "vault_keys", _) => Ok(Some(Self::Everywhere)),
            (_, Some("account_id")) => Ok(Some(Self::Account)),
            (_, Some("hash")) => Ok(Some(Self::Hash)),
            _ => Err(NotDistributed::NoPlace(table.to_owned())),
        }
    }

    /// The statement that puts the rows of a table there, with those that it holds already.
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

/// Bring the schema up to date and distribute every table that is not yet. The tables distributed now.
///
/// One table at a time, each at once or not at all, so that a kill in between costs nothing and the next run goes on.
/// Servers must be stopped meanwhile: half of the tables would not find the other half.
pub async fn distribute(location: &Location, progress: &dyn Progress) -> Result<Vec<String>, NotDistributed> {
    let Location::Postgres { url } = location else { return Err(NotDistributed::Sqlite) };
    let database = connect::patient(url).await?;
    if !has_citus(&database).await? {
        return Err(NotDistributed::NoCitus);
    }
    connect::prepare(&database, &|_, _| ()).await?;
    let mut tables = tables(&database).await?;
    // The others are put beside the accounts.
    tables.sort_by_key(|table| table.place != Place::Accounts);
    let mut distributed = Vec::new();
    progress.set_total(tables.iter().filter(|table| !table.distributed).count() as u64);
    for table in tables.iter().filter(|table| !table.distributed) {
        database.execute_unprepared(&table.place.statement(&table.name)).await?;
        distributed.push(table.name.clone());
        progress.set_done(distributed.len() as u64);
    }
    // What was copied is still in the coordinator's own tables, where nobody sees it and it takes room; a run that was
    // killed may have left some.
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

/// Whether the tables are spread over workers. A coordinator hands a whole statement on to the one worker that has its
/// account; one that adds rows in several of its parts it takes apart itself, and copies between them.
pub(super) async fn is_distributed(database: &impl ConnectionTrait) -> Result<bool, DbErr> {
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

/// Every table that has its place on the workers.
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
        if let Some(place) = Place::of(&name, key.as_deref())? {
            tables.push(Table { name, place, distributed: row.try_get("", "distributed")? });
        }
    }
    Ok(tables)
}
