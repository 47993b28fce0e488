//! A distributed PostgreSQL: units that have sent nothing before their commit are calls of a function, `write_unit.sql`, to the node
//! that holds their accounts. It runs their statements, and commits them. Any other node delegates the call to that one.
//!
//! A coordinator would take the statement itself apart, copy between its parts and commit in two phases.

mod nodes;
mod values;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use base::mutex::lock;
use sea_orm::sqlx::Arguments;
use sea_orm::sqlx::error::BoxDynError;
use sea_orm::sqlx::postgres::PgArguments;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, Statement, Value};
use uuid::Uuid;

use crate::connect::answered;
use crate::postgres::group_statement::{AccountShard, GroupTexts, Writes};
use crate::unit::deferred_updates::{Change, DeferredUpdate, LOST};
use crate::unit::open_transaction::{CommitError, has_derived, uncommitted};
use nodes::Nodes;
use values::TextValues;

/// Creates the function and distributes it.
const CREATE: &str = include_str!("write_unit.sql");
/// Delimits the function's body.
const BODY: &str = "$function$";

const CALL: &str = "SELECT write_unit($1, $2, $3, $4, $5, $6, $7) AS derived";

/// The lock timeout of a unit, for rows and shards that others have locked, and that of a group: a group that waits is written unit
/// by unit, so that no unit waits for another unit's row.
const LOCK_TIMEOUTS: [&str; 2] = ["5s", "200ms"];

/// The number of accounts whose shards are known.
const SHARDS_KNOWN_MAX: usize = 100_000;

/// Writes units by calls.
pub(crate) struct UnitCalls {
    nodes: Arc<Nodes>,
    others: OtherTables,
    texts: GroupTexts,
    shards: Mutex<HashMap<Uuid, AccountShard>>,
}

/// The tables whose rows do not lie with their account.
#[derive(Default)]
struct OtherTables {
    /// Each on every node: a unit may require a row of them.
    everywhere: Vec<String>,
    elsewhere: Vec<String>,
}

impl OtherTables {
    fn has(&self, table: &str) -> bool {
        self.everywhere.iter().chain(&self.elsewhere).any(|other| other == table)
    }

    /// Returns whether an update names one where it may not.
    fn are_in(&self, update: &DeferredUpdate) -> bool {
        let everywhere = self.everywhere.iter().filter(|_| update.change != Change::Requires);
        everywhere.chain(&self.elsewhere).any(|other| update.texts.iter().any(|text| text.contains(other)))
    }
}

/// Creates the function, or replaces the one of another release.
pub(crate) async fn create_function(database: &impl ConnectionTrait) -> Result<(), DbErr> {
    if !has_function(database).await? {
        // One text, so one transaction.
        database.execute_unprepared(CREATE).await?;
    }
    Ok(())
}

/// Returns whether a database has the function, with the same body.
async fn has_function(database: &impl ConnectionTrait) -> Result<bool, DbErr> {
    // Another schema may hold another installation's.
    let sql = "SELECT 1 FROM pg_proc WHERE proname = 'write_unit' AND pronamespace = current_schema()::regnamespace \
               AND prosrc = $1";
    let values = [CREATE.split(BODY).nth(1).unwrap_or_default().into()];
    let found = Statement::from_sql_and_values(DbBackend::Postgres, sql, values);
    Ok(database.query_one_raw(found).await?.is_some())
}

impl UnitCalls {
    /// Returns the calls of a distributed database; `None` if it does not have this release's function.
    pub async fn find(url: &str) -> Result<Option<Self>, DbErr> {
        let nodes = Nodes::connect(url).await?;
        let coordinator = nodes.coordinator();
        if !has_function(coordinator).await? {
            tracing::warn!(
                "the database lacks a function of this release: payments are slow until migrate --distribute has run"
            );
            return Ok(None);
        }
        let sql = "SELECT c.relname::text AS name, p.partmethod = 'n' AS everywhere FROM pg_class c \
                   LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.oid \
                   WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' \
                   AND p.colocationid IS DISTINCT FROM \
                   (SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = 'accounts'::regclass)";
        let mut others = OtherTables::default();
        for row in coordinator.query_all_raw(Statement::from_string(DbBackend::Postgres, sql)).await? {
            let is_everywhere = row.try_get::<Option<bool>>("", "everywhere")?.unwrap_or_default();
            let tables = if is_everywhere { &mut others.everywhere } else { &mut others.elsewhere };
            tables.push(row.try_get("", "name")?);
        }
        Ok(Some(Self {
            nodes: Arc::new(nodes),
            others,
            texts: GroupTexts::default(),
            shards: Mutex::default(),
        }))
    }

    /// Returns the shard that has everything that a unit writes. A unit whose writes do not lie together runs again, and sends each
    /// statement.
    pub async fn shard(&self, writes: &Writes) -> Result<AccountShard, DbErr> {
        let account = account(writes, &self.others).ok_or(LOST)?;
        if self.nodes.check_when_due() {
            lock(&self.shards).clear();
        }
        if let Some(shard) = lock(&self.shards).get(&account) {
            return Ok(*shard);
        }
        let sql = "SELECT shardid, groupid FROM pg_dist_placement \
                   WHERE shardid = get_shard_id_for_distribution_column('accounts', $1)";
        let query = Statement::from_sql_and_values(DbBackend::Postgres, sql, [account.into()]);
        let row = self.nodes.coordinator().query_one_raw(query).await?.ok_or(LOST)?;
        let shard =
            AccountShard { account, id: row.try_get("", "shardid")?, node: row.try_get("", "groupid")? };
        let mut shards = lock(&self.shards);
        if shards.len() >= SHARDS_KNOWN_MAX {
            shards.clear();
        }
        shards.insert(account, shard);
        Ok(shard)
    }

    /// Writes units of one node by a call, which is its own transaction. Returns whether rows were derived.
    pub async fn write(&self, units: &[&Writes]) -> Result<bool, CommitError> {
        let node = units.first().and_then(|unit| unit.shard).map_or(0, |shard| shard.node);
        let transaction = self.nodes.transaction(node).await.map_err(uncommitted)?;
        let Ok(arguments) = self.arguments(units, transaction.slot) else {
            return Err(CommitError::Failed(LOST.into()));
        };
        let row = transaction.query_one(CALL.into(), arguments).await;
        if row.as_ref().is_err_and(|error| !was_called(error)) {
            lock(&self.shards).clear();
        }
        has_derived(row.map_err(uncalled)?).map_err(uncommitted)
    }

    /// Returns the arguments of the call. Units of one kind and shard are a part of it; the parts come in one order, in which
    /// transactions lock their rows.
    fn arguments(&self, units: &[&Writes], slot: i32) -> Result<PgArguments, BoxDynError> {
        let mut parts: BTreeMap<_, Vec<&Writes>> = BTreeMap::new();
        for unit in units {
            let shard = unit.shard.ok_or("a unit without a shard")?;
            parts.entry((shard.id, unit.kind())).or_default().push(unit);
        }
        let account = units.first().and_then(|unit| unit.shard).map(|shard| shard.account);
        let (mut shards, mut used, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let (mut statements, mut sizes) = (Vec::<Arc<str>>::new(), Vec::new());
        for ((shard, _), units) in parts {
            let (text, own) = self.texts.statement::<TextValues>(&units, slot)?;
            let known = statements.iter().position(|known| *known == text);
            let at = known.unwrap_or(statements.len());
            if known.is_none() {
                statements.push(text);
                sizes.push(i32::try_from(own.texts.len())?);
            }
            shards.push(shard);
            used.push(i32::try_from(at + 1)?);
            values.extend(own.texts);
        }
        let statements: Vec<_> = statements.iter().map(|text| &**text).collect();
        let mut arguments = PgArguments::default();
        arguments.add(account)?;
        arguments.add(LOCK_TIMEOUTS[usize::from(units.len() > 1)])?;
        arguments.add(shards)?;
        arguments.add(used)?;
        arguments.add(statements)?;
        arguments.add(sizes)?;
        arguments.add(values)?;
        Ok(arguments)
    }
}

/// The codes of the function's own refusal, because an account lies on another node, and of a function that another release has
/// replaced: the unit runs again, and sends each statement.
const NOT_CALLED: [&str; 2] = ["CP001", "42883"];

fn was_called(error: &DbErr) -> bool {
    answered(error).is_none_or(|code| !NOT_CALLED.contains(&code.as_str()))
}

/// Classifies the error of a call. The worker may have committed without an answer to the coordinator: a connection between them
/// that broke, a cancelled statement or an internal error leaves the outcome unknown.
fn uncalled(error: DbErr) -> CommitError {
    if !was_called(&error) {
        return CommitError::Failed(LOST.into());
    }
    match answered(&error) {
        Some(code) if ["08", "57", "XX"].iter().any(|class| code.starts_with(class)) => {
            CommitError::InDoubt(error)
        }
        _ => uncommitted(error),
    }
}

/// Returns the account that all writes belong to; `None` if there are several, or rows in one of the `others`.
fn account(Writes { deferred, rows, .. }: &Writes, others: &OtherTables) -> Option<Uuid> {
    let sums: Vec<_> = rows.sums.tables(0).collect();
    let mut accounts = Vec::new();
    for table in rows.tables().iter().chain(&sums) {
        if others.has(table.name) {
            return None;
        }
        let key = table.columns.iter().position(|column| *column == "account_id")?;
        accounts.extend(table.rows.iter().map(|row| &row[key]));
    }
    accounts.extend(rows.derived.values.iter().filter_map(|values| values.first()));
    for update in &deferred.0 {
        if others.are_in(update) {
            return None;
        }
        let known = accounts.len();
        accounts.extend(accounts_of(update));
        if accounts.len() == known {
            return None;
        }
    }
    let Some(Value::Uuid(Some(account))) = accounts.first() else { return None };
    accounts.iter().all(|other| other == &accounts[0]).then_some(*account)
}

fn accounts_of(update: &DeferredUpdate) -> impl Iterator<Item = &Value> {
    let is_named =
        |text: &str| ["\"account_id\" = ", "\"accounts\".\"id\" = "].iter().any(|end| text.ends_with(end));
    update.texts.iter().zip(&update.values).filter(move |(text, _)| is_named(text)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use sea_orm::sea_query::{Alias, Expr, ExprTrait, Query, UpdateStatement};

    use super::*;
    use crate::unit::deferred_updates::DeferredUpdates;
    use crate::unit::write_buffer::WriteBuffer;

    const ONE: Uuid = Uuid::from_u128(1);
    const TWO: Uuid = Uuid::from_u128(2);

    fn account(writes: &Writes) -> Option<Uuid> {
        let (everywhere, elsewhere) = (vec!["everywhere".to_owned()], vec!["elsewhere".to_owned()]);
        super::account(writes, &OtherTables { everywhere, elsewhere })
    }

    fn rows(table: &'static str, accounts: &[Uuid]) -> Writes {
        let mut rows = WriteBuffer::default();
        for account in accounts {
            rows.values(table, [("id", 7.into()), ("account_id", (*account).into())]);
        }
        Writes { deferred: DeferredUpdates::default(), rows, shard: None }
    }

    fn update(table: &'static str, column: &'static str, account: Uuid) -> UpdateStatement {
        let table = Alias::new(table);
        Query::update()
            .table(table.clone())
            .value(Alias::new("n"), 8)
            .and_where(Expr::col((table, Alias::new(column))).eq(account))
            .take()
    }

    #[test]
    fn rows_that_lie_with_one_account_are_its_unit() {
        assert_eq!(account(&rows("things", &[ONE, ONE])), Some(ONE));
        let mut writes = rows("things", &[ONE]);
        writes.deferred.add(Change::Decides, &update("things", "account_id", ONE));
        assert_eq!(account(&writes), Some(ONE));
        writes.rows = WriteBuffer::default();
        assert_eq!(account(&writes), Some(ONE));
    }

    #[test]
    fn several_accounts_other_tables_and_no_account_are_no_call() {
        assert_eq!(account(&rows("things", &[ONE, TWO])), None);
        assert_eq!(account(&rows("elsewhere", &[ONE])), None);
        for other in [
            update("things", "account_id", TWO),
            update("elsewhere", "account_id", ONE),
            update("everywhere", "account_id", ONE),
            update("things", "owner", ONE),
        ] {
            let mut writes = rows("things", &[ONE]);
            writes.deferred.add(Change::Follows, &other);
            assert_eq!(account(&writes), None, "{other:?}");
        }
        let mut writes = rows("things", &[ONE]);
        writes.rows.values("parts", [("id", 7.into())]);
        assert_eq!(account(&writes), None);
        assert_eq!(account(&rows("things", &[])), None);
    }

    #[test]
    fn a_unit_may_require_what_is_on_every_node() {
        for (table, expected) in [("everywhere", Some(ONE)), ("elsewhere", None)] {
            let mut writes = rows("things", &[ONE]);
            writes.deferred.add(Change::Requires, &update(table, "account_id", ONE));
            assert_eq!(account(&writes), expected, "{table}");
        }
        assert_eq!(account(&rows("everywhere", &[ONE])), None);
    }

    #[test]
    fn an_answer_that_does_not_come_from_the_worker_leaves_the_outcome_unknown() {
        let lost = DbErr::Conn(sea_orm::RuntimeErr::Internal("the coordinator is gone".into()));
        assert!(matches!(uncalled(lost), CommitError::InDoubt(_)));
    }
}
