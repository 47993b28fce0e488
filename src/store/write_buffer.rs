//! Buffers writes until just before COMMIT. They are then sent as one statement per table (SQLite, and a distributed
//! PostgreSQL), or all together as one statement (PostgreSQL).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use entity::counter::Counted;
use entity::{AccountToken, Day, Timestamp, WebhookEndpointToken, balance, counter, idempotency_key};
use sea_orm::{DbBackend, EntityName, EntityTrait, IdenStatic, Iterable, ModelTrait, Statement, Value};
use uuid::Uuid;

use super::deferred_updates::DeferredUpdates;
use super::outbox::{OutboxEvent, count_apart, count_told, insert_webhooks};
use super::rows::value_rows;

/// A full-text search table of SQLite; PostgreSQL indexes the row's own column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordTable {
    /// The words of charges.
    Charges,
}

impl WordTable {
    /// Returns the table's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Charges => "charges_search",
        }
    }

    /// Returns three private-use characters for the account: a trigram of its own in every row and every search. Two accounts
    /// may share a code; the search checks the account itself as well.
    pub fn account_code(account: AccountToken) -> String {
        const FIRST: u32 = 0xE000;
        const HOW_MANY: u32 = 6400;
        let bytes = account.id().into_bytes();
        // The last bytes of a UUIDv7 are the random ones.
        let mut random =
            u64::from_be_bytes([0, 0, bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]]);
        (0..3)
            .filter_map(|_| {
                let digit = u32::try_from(random % u64::from(HOW_MANY)).ok()?;
                random /= u64::from(HOW_MANY);
                char::from_u32(FIRST + digit)
            })
            .collect()
    }
}

#[derive(Debug)]
struct Table {
    name: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<Vec<Value>>,
    /// The clause for a row that exists already; empty if that never happens.
    conflict: &'static str,
}

/// A statement that writes buffered rows.
pub(super) enum WriteStatement {
    /// Writes rows only.
    Rows(Statement),
    /// Also writes webhooks, for whatever endpoints there are: if it has written any, its first row has a `told` above 0.
    Told(Statement),
}

/// Rows waiting to be written.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    tables: Vec<Table>,
    counts: BTreeMap<(AccountToken, Counted), i64>,
    credits: BTreeMap<(AccountToken, Day), i64>,
    announced: Vec<OutboxEvent>,
    claims: BTreeSet<(AccountToken, Vec<u8>)>,
}

impl WriteBuffer {
    pub fn row<M: ModelTrait>(&mut self, row: &M) {
        let columns = || <M::Entity as EntityTrait>::Column::iter();
        let values = columns().map(|column| row.get(column)).collect();
        let names = || columns().map(|column| IdenStatic::as_str(&column)).collect();
        self.push(EntityName::table_name(&M::Entity::default()), names, values, "");
    }

    pub fn claim(&mut self, key: &idempotency_key::Model) {
        self.row(key);
        self.claims.insert((key.account_id, key.hash.clone()));
    }

    pub fn has_claimed(&self, key: &idempotency_key::Model) -> bool {
        self.claims.contains(&(key.account_id, key.hash.clone()))
    }

    pub fn count(&mut self, account: AccountToken, what: Counted, n: i64) {
        *self.counts.entry((account, what)).or_default() += n;
    }

    pub fn credit(&mut self, account: AccountToken, available_on: Day, amount: i64) {
        *self.credits.entry((account, available_on)).or_default() += amount;
    }

    /// Returns the account's credits, all of them or those that become available up to a day.
    pub fn credits(&self, account: AccountToken, up_to: Option<Day>) -> i64 {
        let counts = |of: AccountToken, day: Day| of == account && up_to.is_none_or(|last| day <= last);
        self.credits.iter().filter(|((of, day), _)| counts(*of, *day)).map(|(_, amount)| amount).sum()
    }

    pub fn publish_event(&mut self, announcement: OutboxEvent) {
        self.announced.push(announcement);
    }

    /// Returns the published events.
    pub fn events(&self) -> &[OutboxEvent] {
        &self.announced
    }

    /// Removes and returns the published events, whose webhooks are to be buffered one by one.
    pub fn take_events(&mut self) -> Vec<OutboxEvent> {
        std::mem::take(&mut self.announced)
    }

    /// Buffers the webhook of an event to an endpoint, by its token and slot; none for a slot that no endpoint can have.
    pub fn tell(
        &mut self,
        announcement: &OutboxEvent,
        endpoint: (WebhookEndpointToken, i32),
        leased_until: Option<Timestamp>,
    ) {
        if let Some(webhook) = announcement.webhook(endpoint, leased_until) {
            self.row(&webhook);
            self.count(announcement.account, Counted::Webhooks, 1);
        }
    }

    pub fn words(&mut self, table: WordTable, account: AccountToken, id: Uuid, text: &str) {
        let text = format!("{}\n{text}", WordTable::account_code(account));
        self.push(table.name(), || vec!["text", "id"], vec![text.into(), id.into()], "");
    }

    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
            && self.counts.is_empty()
            && self.credits.is_empty()
            && self.announced.is_empty()
    }

    /// Merges another buffer into this one.
    pub fn absorb(&mut self, other: Self) {
        for table in other.tables {
            for row in table.rows {
                self.push(table.name, || table.columns.clone(), row, table.conflict);
            }
        }
        for (key, n) in other.counts {
            *self.counts.entry(key).or_default() += n;
        }
        for (key, amount) in other.credits {
            *self.credits.entry(key).or_default() += amount;
        }
        self.announced.extend(other.announced);
        self.claims.extend(other.claims);
    }

    /// Returns the statements that write everything, with counts and balances in `slot` and webhooks leased or free. With
    /// `together`, PostgreSQL's deferred updates, they are one or none; otherwise one per table.
    pub fn into_statements(
        mut self,
        backend: DbBackend,
        together: Option<DeferredUpdates>,
        slot: i32,
        leased_until: Option<Timestamp>,
    ) -> Vec<WriteStatement> {
        if self.is_empty() {
            let held = together.filter(|held| !held.is_empty());
            return held.map(DeferredUpdates::into_statement).map(WriteStatement::Rows).into_iter().collect();
        }
        for ((account_id, kind), n) in std::mem::take(&mut self.counts) {
            self.upsert(&counter::Model { account_id, kind, slot, n }, COUNT_CONFLICT);
        }
        for ((account_id, available_on), amount) in std::mem::take(&mut self.credits) {
            self.upsert(&balance::Model { account_id, available_on, slot, amount }, CREDIT_CONFLICT);
        }
        let Self { tables, announced, .. } = &self;
        match together {
            Some(held) => vec![as_one(held, tables, announced, leased_until, slot)],
            None => one_by_one(backend, tables, announced, leased_until),
        }
    }

    fn upsert<M: ModelTrait>(&mut self, row: &M, conflict: &'static str) {
        self.row(row);
        if let Some(table) =
            self.tables.iter_mut().find(|table| table.name == EntityName::table_name(&M::Entity::default()))
        {
            table.conflict = conflict;
        }
    }

    fn push(
        &mut self,
        name: &'static str,
        columns: impl FnOnce() -> Vec<&'static str>,
        row: Vec<Value>,
        conflict: &'static str,
    ) {
        match self.tables.iter_mut().find(|table| table.name == name) {
            Some(table) => table.rows.push(row),
            None => self.tables.push(Table { name, columns: columns(), rows: vec![row], conflict }),
        }
    }
}

const COUNT_CONFLICT: &str =
    " ON CONFLICT (account_id, kind, slot) DO UPDATE SET n = counters.n + excluded.n";
const CREDIT_CONFLICT: &str =
    " ON CONFLICT (account_id, available_on, slot) DO UPDATE SET amount = balances.amount + excluded.amount";

/// Returns an INSERT per table and chunk. Only SQLite has events here: a distributed PostgreSQL has them as rows by now.
fn one_by_one(
    backend: DbBackend,
    tables: &[Table],
    announced: &[OutboxEvent],
    leased_until: Option<Timestamp>,
) -> Vec<WriteStatement> {
    let statement = |write: &dyn Fn(&mut String, &mut Vec<Value>)| {
        let (mut sql, mut values) = (String::new(), Vec::new());
        write(&mut sql, &mut values);
        Statement::from_sql_and_values(backend, sql, values)
    };
    let mut statements = Vec::new();
    for table in tables {
        for chunk in chunks(&table.rows) {
            let rows = statement(&|sql, values| insert(sql, values, table, chunk, backend));
            statements.push(WriteStatement::Rows(rows));
        }
    }
    for chunk in chunks(announced) {
        let webhooks = statement(&|sql, values| {
            insert_webhooks(sql, values, chunk, leased_until, backend);
            sql.push_str(" RETURNING 1 AS told");
        });
        let counts = statement(&|sql, values| count_apart(sql, values, chunk, COUNT_CONFLICT));
        statements.extend([WriteStatement::Told(webhooks), WriteStatement::Rows(counts)]);
    }
    statements
}

/// Splits rows into chunks whose sizes are powers of two, so that the statement cache sees few different texts however many
/// units a batch has.
fn chunks<T>(mut rest: &[T]) -> impl Iterator<Item = &[T]> {
    const CHUNK_ROWS_MAX: usize = 16;
    std::iter::from_fn(move || {
        let size = CHUNK_ROWS_MAX.min(1 << rest.len().checked_ilog2()?);
        let (chunk, after) = rest.split_at(size);
        rest = after;
        Some(chunk)
    })
}

/// PostgreSQL: returns one statement for everything, because round trips decide throughput there.
fn as_one(
    held: DeferredUpdates,
    tables: &[Table],
    announced: &[OutboxEvent],
    leased_until: Option<Timestamp>,
    slot: i32,
) -> WriteStatement {
    let (mut sql, mut values, mut end) = held.into_parts();
    let named = |sql: &mut String, name: &str| {
        let _ = write!(sql, "{} {name} AS (", if sql.is_empty() { "WITH" } else { "," });
    };
    for (n, table) in tables.iter().enumerate() {
        named(&mut sql, &format!("w{n}"));
        insert(&mut sql, &mut values, table, &table.rows, DbBackend::Postgres);
        sql.push(')');
    }
    if !announced.is_empty() {
        named(&mut sql, "told");
        insert_webhooks(&mut sql, &mut values, announced, leased_until, DbBackend::Postgres);
        sql.push(')');
        named(&mut sql, "counted");
        count_told(&mut sql, &mut values, slot, COUNT_CONFLICT);
        sql.push(')');
        end.push("(SELECT COUNT(*) FROM told) AS told".to_owned());
    }
    let _ = write!(sql, " SELECT {}", end.join(", "));
    let statement = Statement::from_sql_and_values(DbBackend::Postgres, sql, values);
    if announced.is_empty() { WriteStatement::Rows(statement) } else { WriteStatement::Told(statement) }
}

fn insert(sql: &mut String, values: &mut Vec<Value>, table: &Table, rows: &[Vec<Value>], backend: DbBackend) {
    let _ = write!(sql, "INSERT INTO {} ({}) ", table.name, table.columns.join(", "));
    value_rows(sql, values, backend, rows.iter().cloned());
    sql.push_str(table.conflict);
}
