//! A distributed PostgreSQL: a unit that has sent nothing before its commit is one call of a function, `write_unit.sql`. The
//! coordinator delegates the call to the worker that holds the account; the worker runs the unit's statement, and commits it.
//!
//! The coordinator would take the statement itself apart, copy between its parts and commit in two phases.

mod values;

use sea_orm::sqlx::Arguments;
use sea_orm::sqlx::error::BoxDynError;
use sea_orm::sqlx::postgres::PgArguments;
use sea_orm::{ConnectionTrait, DbBackend, DbErr, Statement, Value};
use uuid::Uuid;

use super::connect::answered;
use super::deferred_updates::{DeferredUpdate, LOST};
use super::group_statement::{Writes, group_text};
use super::open_transaction::{CommitError, uncommitted};
use super::postgres_pool::Transaction;
use super::statement_observer::show;
use super::write_buffer::WriteStatement;
use values::TextValues;

/// Creates the function and distributes it.
const CREATE: &str = include_str!("write_unit.sql");
/// Delimits the function's body.
const BODY: &str = "$function$";

/// Calls the function.
const CALL: &str = "SELECT write_unit($1, $2, $3) AS derived";

/// The calls that units can be.
pub(super) struct UnitCalls {
    /// The tables whose rows do not lie with their account.
    others: Vec<String>,
}

/// A call that is ready to be sent.
pub(super) struct UnitCall {
    arguments: PgArguments,
    derives: bool,
}

/// Creates the function, or replaces the one of another release.
pub(super) async fn create_function(database: &impl ConnectionTrait) -> Result<(), DbErr> {
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
    pub async fn find(database: &impl ConnectionTrait) -> Result<Option<Self>, DbErr> {
        if !has_function(database).await? {
            tracing::warn!(
                "the database lacks a function of this release: payments are slow until migrate --distribute has run"
            );
            return Ok(None);
        }
        let sql = "SELECT c.relname::text AS name FROM pg_class c \
                   LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.oid \
                   WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' \
                   AND p.colocationid IS DISTINCT FROM \
                   (SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = 'accounts'::regclass)";
        let rows = database.query_all_raw(Statement::from_string(DbBackend::Postgres, sql)).await?;
        let others = rows.iter().map(|row| row.try_get("", "name")).collect::<Result<_, _>>()?;
        Ok(Some(Self { others }))
    }

    /// Returns the account that all writes belong to; `None` if there are several, or rows that lie elsewhere.
    pub fn account(&self, Writes { held, rows }: &Writes) -> Option<Uuid> {
        let sums: Vec<_> = rows.sums.tables(0).collect();
        let mut accounts = Vec::new();
        for table in rows.tables().iter().chain(&sums) {
            if self.others.iter().any(|other| other == table.name) {
                return None;
            }
            let key = table.columns.iter().position(|column| *column == "account_id")?;
            accounts.extend(table.rows.iter().map(|row| &row[key]));
        }
        accounts.extend(rows.derived.values.iter().filter_map(|values| values.first()));
        for update in &held.0 {
            if self.others.iter().any(|other| update.texts.iter().any(|text| text.contains(other))) {
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
}

impl UnitCall {
    /// Returns the call that writes everything of an account's unit, with sums in `slot`; `None` if a value has no text.
    pub fn new(account: Uuid, Writes { held, rows }: Writes, slot: i32) -> Option<Self> {
        let statement = rows.into_statements(DbBackend::Postgres, Some(held), slot).pop()?;
        let (statement, derives) = match statement {
            WriteStatement::Rows(statement) | WriteStatement::IfDerived(statement) => (statement, false),
            WriteStatement::Derived(statement) => (statement, true),
        };
        show(&statement);
        let values = TextValues::of(statement.values.as_ref().map_or(&[], |values| &values.0))?;
        Self::of(account, values.into_one(&statement.sql)?, derives).ok()
    }

    /// Returns the call that writes everything of several units of an account.
    pub fn of_group(account: Uuid, units: &[&Writes], slot: i32) -> Result<Self, BoxDynError> {
        let mut values = TextValues::default();
        let text = group_text(units, slot, &mut values)?;
        let derives = units.iter().any(|unit| unit.rows.derived.derivation.is_some());
        Self::of(account, values.into_one(&text).ok_or("a value without a text")?, derives)
    }

    fn of(
        account: Uuid,
        (text, values): (String, Vec<Option<String>>),
        derives: bool,
    ) -> Result<Self, BoxDynError> {
        let mut arguments = PgArguments::default();
        arguments.add(account)?;
        arguments.add(text)?;
        arguments.add(values)?;
        Ok(Self { arguments, derives })
    }

    /// Sends the call, which is its own transaction. Returns whether rows were derived.
    pub async fn send(self, transaction: &Transaction) -> Result<bool, CommitError> {
        let row = transaction.query_one(CALL.into(), self.arguments).await.map_err(uncalled)?;
        let derived = row.filter(|_| self.derives).map(|row| row.try_get::<i64>("", "derived")).transpose();
        Ok(derived.map_err(uncommitted)?.unwrap_or_default() > 0)
    }
}

/// The codes of the function's own refusal, because the account lies on another node, and of a function that another release has
/// replaced: the unit runs again, and sends each statement.
const NOT_CALLED: [&str; 2] = ["CP001", "42883"];

/// Classifies the error of a call. The worker may have committed without an answer to the coordinator: a connection between them
/// that broke, a cancelled statement or an internal error leaves the outcome unknown.
fn uncalled(error: DbErr) -> CommitError {
    match answered(&error) {
        Some(code) if NOT_CALLED.contains(&code.as_str()) => CommitError::Failed(LOST.into()),
        Some(code) if ["08", "57", "XX"].iter().any(|class| code.starts_with(class)) => {
            CommitError::InDoubt(error)
        }
        _ => uncommitted(error),
    }
}

/// Returns the accounts that an update names.
fn accounts_of(update: &DeferredUpdate) -> impl Iterator<Item = &Value> {
    let is_named =
        |text: &str| ["\"account_id\" = ", "\"accounts\".\"id\" = "].iter().any(|end| text.ends_with(end));
    update.texts.iter().zip(&update.values).filter(move |(text, _)| is_named(text)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use sea_orm::sea_query::{Alias, Expr, ExprTrait, Query, UpdateStatement};

    use super::*;
    use crate::store::deferred_updates::{Change, DeferredUpdates};
    use crate::store::write_buffer::WriteBuffer;

    const ONE: Uuid = Uuid::from_u128(1);
    const TWO: Uuid = Uuid::from_u128(2);

    fn calls() -> UnitCalls {
        UnitCalls { others: vec!["elsewhere".to_owned()] }
    }

    fn rows(table: &'static str, accounts: &[Uuid]) -> Writes {
        let mut rows = WriteBuffer::default();
        for account in accounts {
            rows.values(table, [("id", 7.into()), ("account_id", (*account).into())]);
        }
        Writes { held: DeferredUpdates::default(), rows }
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
    fn what_lies_with_one_account_is_its_unit() {
        assert_eq!(calls().account(&rows("things", &[ONE, ONE])), Some(ONE));
        let mut writes = rows("things", &[ONE]);
        writes.held.add(Change::Decides, &update("things", "account_id", ONE));
        assert_eq!(calls().account(&writes), Some(ONE));
        writes.rows = WriteBuffer::default();
        assert_eq!(calls().account(&writes), Some(ONE));
    }

    #[test]
    fn several_accounts_other_tables_and_no_account_are_no_call() {
        assert_eq!(calls().account(&rows("things", &[ONE, TWO])), None);
        assert_eq!(calls().account(&rows("elsewhere", &[ONE])), None);
        for other in [
            update("things", "account_id", TWO),
            update("elsewhere", "account_id", ONE),
            update("things", "owner", ONE),
        ] {
            let mut writes = rows("things", &[ONE]);
            writes.held.add(Change::Follows, &other);
            assert_eq!(calls().account(&writes), None, "{other:?}");
        }
        let mut writes = rows("things", &[ONE]);
        writes.rows.values("parts", [("id", 7.into())]);
        assert_eq!(calls().account(&writes), None);
        assert_eq!(calls().account(&rows("things", &[])), None);
    }

    #[test]
    fn an_answer_that_does_not_come_from_the_worker_leaves_the_outcome_unknown() {
        let lost = DbErr::Conn(sea_orm::RuntimeErr::Internal("the coordinator is gone".into()));
        assert!(matches!(uncalled(lost), CommitError::InDoubt(_)));
    }
}
