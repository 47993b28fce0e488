//! Buffers writes until just before COMMIT. They are then sent as one statement per table (SQLite, and a distributed
//! PostgreSQL), or all together as one statement, if it can hold their values (PostgreSQL).

use std::fmt::Write;

use sea_orm::{
    DbBackend, EntityName, EntityTrait, IdenStatic, Iterable, ModelTrait, PrimaryKeyToColumn, Statement,
    Value,
};

use crate::error::StoreError;
use crate::unit::deferred_updates::DeferredUpdates;
use crate::unit::derived::DerivedRows;
use crate::unit::rows::value_rows;
use crate::unit::sums::Sums;

/// Rows to insert into a table.
pub(crate) struct Table {
    pub name: &'static str,
    pub columns: Vec<&'static str>,
    pub rows: Vec<Vec<Value>>,
    /// The clause for a row that exists already; empty if that never happens.
    pub conflict: String,
}

impl Table {
    /// Returns a model's table without rows.
    pub fn for_model<M: ModelTrait>() -> Self {
        let columns = <M::Entity as EntityTrait>::Column::iter();
        Self {
            name: EntityName::table_name(&M::Entity::default()),
            columns: columns.map(|column| IdenStatic::as_str(&column)).collect(),
            rows: Vec::new(),
            conflict: String::new(),
        }
    }

    pub fn push<M: ModelTrait>(&mut self, row: &M) {
        self.rows.push(<M::Entity as EntityTrait>::Column::iter().map(|column| row.get(column)).collect());
    }
}

/// A statement that writes buffered rows.
pub(crate) enum WriteStatement {
    /// Writes rows only.
    Rows(Statement),
    /// Derives rows: on PostgreSQL, after writing others, its first row says in `derived` how many.
    Derived(Statement),
    /// SQLite: writes what follows if the statement before it has derived rows.
    IfDerived(Statement),
}

/// Rows waiting to be written.
#[derive(Default)]
pub(crate) struct WriteBuffer {
    tables: Vec<Table>,
    pub sums: Sums,
    pub derived: DerivedRows,
    /// Tables in which a row that exists already refuses the unit.
    pub unique: Vec<(&'static str, Refusal)>,
    /// The actions that follow the commit.
    pub then: Vec<Then>,
}

/// Makes the error of a unit that is refused.
pub(crate) type Refusal = Box<dyn Fn() -> StoreError + Send + Sync>;

/// Something to do after the commit.
pub(crate) enum Then {
    Always(Box<dyn FnOnce() + Send + Sync>),
    /// If it has derived rows.
    IfDerived(Box<dyn FnOnce() + Send + Sync>),
}

impl WriteBuffer {
    pub fn row<M: ModelTrait>(&mut self, row: &M) {
        let name = EntityName::table_name(&M::Entity::default());
        self.table(name, Table::for_model::<M>).push(row);
    }

    /// Returns whether a row with the same primary key is buffered.
    pub fn has<M: ModelTrait>(&self, row: &M) -> bool {
        let name = EntityName::table_name(&M::Entity::default());
        let keys = <M::Entity as EntityTrait>::PrimaryKey::iter();
        let keys = keys.map(|key| {
            let column = PrimaryKeyToColumn::into_column(key);
            (IdenStatic::as_str(&column), row.get(column))
        });
        let keys: Vec<_> = keys.collect();
        self.tables.iter().filter(|table| table.name == name).any(|table| {
            let columns = |row: &[Value]| {
                let named = table.columns.iter().zip(row);
                keys.iter().all(|(key, value)| named.clone().any(|it| it == (key, value)))
            };
            table.rows.iter().any(|row| columns(row))
        })
    }

    /// Buffers a row of a table that has no model.
    pub fn values<const N: usize>(&mut self, name: &'static str, row: [(&'static str, Value); N]) {
        let (columns, row): (Vec<_>, Vec<_>) = row.into_iter().unzip();
        let table = || Table { name, columns, rows: Vec::new(), conflict: String::new() };
        self.table(name, table).rows.push(row);
    }

    fn table(&mut self, name: &'static str, new: impl FnOnce() -> Table) -> &mut Table {
        let known = self.tables.iter().position(|table| table.name == name);
        let at = known.unwrap_or_else(|| {
            self.tables.push(new());
            self.tables.len() - 1
        });
        &mut self.tables[at]
    }

    /// Returns the tables that rows are appended to.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.sums.is_empty() && self.derived.values.is_empty()
    }

    /// Merges another buffer into this one.
    pub fn absorb(&mut self, other: Self) {
        for Table { name, columns, rows, conflict } in other.tables {
            self.table(name, || Table { name, columns, rows: Vec::new(), conflict }).rows.extend(rows);
        }
        self.sums.absorb(&other.sums);
        self.derived.absorb(other.derived);
        self.unique.extend(other.unique);
        self.then.extend(other.then);
    }

    /// Returns the statements that write everything, with sums in `slot`. With `together`, PostgreSQL's deferred updates, they
    /// are one or none, or several if one cannot hold their values; otherwise one per table.
    pub fn into_statements(
        mut self,
        backend: DbBackend,
        together: Option<DeferredUpdates>,
        slot: i32,
    ) -> Vec<WriteStatement> {
        if self.is_empty() {
            let deferred = together.filter(|updates| !updates.is_empty());
            let statement = deferred.map(DeferredUpdates::into_statement);
            return statement.map(WriteStatement::Rows).into_iter().collect();
        }
        self.tables.extend(self.sums.tables(slot));
        let Some(mut deferred) = together else { return one_by_one(backend, self.tables, self.derived) };
        let others = deferred.0.iter().map(|update| update.values.len()).sum();
        let parts = parts(self.tables, self.derived, others).into_iter();
        parts.map(|(tables, derived)| as_one(std::mem::take(&mut deferred), tables, derived, slot)).collect()
    }
}

/// The most values of a statement; PostgreSQL takes 65,535.
const VALUES_MAX: usize = 60_000;

/// Splits what one statement cannot hold beside so many other values: where a unit writes thousands of rows, it may send more than one.
fn parts(tables: Vec<Table>, derived: DerivedRows, others: usize) -> Vec<(Vec<Table>, DerivedRows)> {
    let rows = tables.iter().flat_map(|table| &table.rows).chain(&derived.values);
    if others + rows.map(Vec::len).sum::<usize>() <= VALUES_MAX {
        return vec![(tables, derived)];
    }
    let size = |rows: &[Vec<Value>]| VALUES_MAX / 2 / rows.first().map_or(1, |row| row.len().max(1));
    let mut parts = Vec::new();
    for Table { name, columns, rows, conflict } in tables {
        for chunk in rows.chunks(size(&rows)) {
            let (columns, conflict) = (columns.clone(), conflict.clone());
            parts.push((
                vec![Table { name, columns, rows: chunk.to_vec(), conflict }],
                DerivedRows::default(),
            ));
        }
    }
    let DerivedRows { derivation, values } = derived;
    let chunks = values.chunks(size(&values)).map(<[_]>::to_vec);
    parts.extend(chunks.map(|values| (Vec::new(), DerivedRows { derivation, values })));
    parts
}

/// Returns an INSERT per table and chunk. Only SQLite derives rows here: a distributed PostgreSQL has read and appended them.
fn one_by_one(backend: DbBackend, tables: Vec<Table>, derived: DerivedRows) -> Vec<WriteStatement> {
    let statement = |write: &mut dyn FnMut(&mut String, &mut Vec<Value>)| {
        let (mut sql, mut values) = (String::new(), Vec::new());
        write(&mut sql, &mut values);
        Statement::from_sql_and_values(backend, sql, values)
    };
    let mut statements = Vec::new();
    for mut table in tables {
        for mut chunk in chunks(std::mem::take(&mut table.rows)) {
            let rows = statement(&mut |sql, values| {
                insert(sql, values, &table, std::mem::take(&mut chunk), backend);
            });
            statements.push(WriteStatement::Rows(rows));
        }
    }
    let Some(derivation) = derived.derivation else { return statements };
    for mut chunk in chunks(derived.values) {
        let counts = statement(&mut |sql, values| derivation.count(sql, values, &chunk));
        let rows = statement(&mut |sql, values| {
            derivation.insert(sql, values, std::mem::take(&mut chunk), backend);
        });
        statements.extend([WriteStatement::Derived(rows), WriteStatement::IfDerived(counts)]);
    }
    statements
}

/// Splits rows into chunks whose sizes are powers of two, so that the statement cache sees few different texts however many
/// units a batch has.
fn chunks<T>(mut rows: Vec<T>) -> impl Iterator<Item = Vec<T>> {
    const CHUNK_ROWS_MAX: usize = 16;
    std::iter::from_fn(move || {
        let size = CHUNK_ROWS_MAX.min(1 << rows.len().checked_ilog2()?);
        let after = rows.split_off(size);
        Some(std::mem::replace(&mut rows, after))
    })
}

/// PostgreSQL: returns one statement for everything, because round trips decide throughput there.
fn as_one(deferred: DeferredUpdates, tables: Vec<Table>, derived: DerivedRows, slot: i32) -> WriteStatement {
    let (mut sql, mut values, mut end) = deferred.into_parts();
    let named = |sql: &mut String, name: &str| {
        let _ = write!(sql, "{} {name} AS (", if sql.is_empty() { "WITH" } else { "," });
    };
    for (n, mut table) in tables.into_iter().enumerate() {
        named(&mut sql, &format!("w{n}"));
        let rows = std::mem::take(&mut table.rows);
        insert(&mut sql, &mut values, &table, rows, DbBackend::Postgres);
        sql.push(')');
    }
    if let Some(derivation) = derived.derivation {
        named(&mut sql, "derived");
        derivation.insert(&mut sql, &mut values, derived.values, DbBackend::Postgres);
        sql.push(')');
        named(&mut sql, "counted");
        // A parameter: as text it would make another statement for each slot, for the database to parse and plan.
        values.push(slot.into());
        sql.push_str(&derivation.count_derived(values.len()));
        sql.push(')');
        end.insert(0, "(SELECT COUNT(*) FROM derived) AS derived".to_owned());
    }
    let _ = write!(sql, " SELECT {}", end.join(", "));
    let statement = Statement::from_sql_and_values(DbBackend::Postgres, sql, values);
    if derived.derivation.is_none() {
        WriteStatement::Rows(statement)
    } else {
        WriteStatement::Derived(statement)
    }
}

fn insert(
    sql: &mut String,
    values: &mut Vec<Value>,
    table: &Table,
    rows: Vec<Vec<Value>>,
    backend: DbBackend,
) {
    let _ = write!(sql, "INSERT INTO {} ({}) ", table.name, table.columns.join(", "));
    value_rows(sql, values, backend, rows);
    sql.push_str(&table.conflict);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::derived::Derivation;

    const DERIVATION: Derivation = Derivation {
        columns: &["account_id", "body"],
        insert: "INSERT INTO others SELECT * FROM v",
        locked: "",
        count_derived: "",
        count: "",
        look_up: |_, _| Box::pin(async { Ok(false) }),
    };

    #[test]
    fn a_unit_of_thousands_of_rows_is_sent_as_statements_that_postgresql_takes() {
        for (rows, statements) in [(1, 1), (6_000, 1), (6_001, 3), (20_000, 8)] {
            let mut buffer = WriteBuffer::default();
            for n in 0..rows {
                buffer.values("rows", [0; 8].map(|_| ("column", Value::from(n))));
                buffer.derived.add(&DERIVATION, vec![n.into(), n.into()]);
            }
            let sent = buffer.into_statements(DbBackend::Postgres, Some(DeferredUpdates::default()), 0);
            let counts: Vec<_> = sent
                .iter()
                .map(
                    |(WriteStatement::Rows(sql)
                     | WriteStatement::Derived(sql)
                     | WriteStatement::IfDerived(sql))| {
                        sql.values.as_ref().map_or(0, |values| values.0.len())
                    },
                )
                .collect();
            assert_eq!(counts.len(), statements, "{rows} rows: {counts:?}");
            assert!(counts.iter().all(|count| *count <= 65_535), "{counts:?}");
            // A statement that derives has the slot as well.
            let derivations = sent.iter().filter(|it| matches!(it, WriteStatement::Derived(_))).count();
            assert_eq!(counts.iter().sum::<usize>(), 10 * usize::try_from(rows).unwrap() + derivations);
        }
    }
}
