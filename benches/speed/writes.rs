//! What a request writes, read off the database: its commit is the difference between two pictures of it, before and
//! after the request. So a ceiling writes what the server writes, whatever that becomes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::Result;
use super::database::{Database, Kind};

/// A value: PostgreSQL's text of it, or SQLite's literal.
pub type Cell = Option<String>;

/// A column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    name: String,
    /// Its type, as the database says it.
    pub kind: String,
    in_key: bool,
}

impl Column {
    /// Sums are kept in several rows, so that writers do not wait for each other: which of them.
    pub fn is_slot(&self) -> bool {
        self.in_key && self.name == "slot"
    }
}

#[derive(Debug, Clone)]
struct Table {
    columns: Vec<Column>,
    /// By key.
    rows: BTreeMap<Vec<Cell>, Vec<Cell>>,
}

/// All rows of all tables.
pub struct TableSnapshot(BTreeMap<String, Table>);

impl TableSnapshot {
    /// Without the numbers of events, which a worker gives for many payments at once.
    pub async fn take(database: &Database) -> Result<Self> {
        let (schema, quoted, array) = match database.kind() {
            // The rows of a table of words are asked of itself, and not of those in which it keeps them.
            Kind::Sqlite => (
                "SELECT t.name, c.name, c.type, CASE WHEN c.pk > 0 THEN 'key' END
                 FROM pragma_table_list t JOIN pragma_table_info(t.name) c
                 WHERE t.schema = 'main' AND t.type IN ('table', 'virtual') AND t.name NOT LIKE 'sqlite%'
                     AND t.name <> 'event_sequences' AND c.name <> 'sequence'
                 ORDER BY t.name, c.cid",
                "quote(",
                "json_array(",
            ),
            Kind::Postgres => (
                "SELECT t.relname::text, c.attname::text, format_type(c.atttypid, c.atttypmod),
                     CASE WHEN c.attnum = ANY (k.indkey) THEN 'key' END
                 FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped
                 LEFT JOIN pg_index k ON k.indrelid = t.oid AND k.indisprimary
                 WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace
                     AND t.relname <> 'event_sequences' AND c.attname <> 'sequence'
                 ORDER BY 1, c.attnum",
                "text(",
                "json_build_array(",
            ),
        };
        let mut tables = BTreeMap::<String, Table>::new();
        for row in database.rows(schema).await? {
            let Ok([Some(table), Some(name), kind, key]) = <[Cell; 4]>::try_from(row) else {
                return Err("a column without a name".into());
            };
            let column = Column { name, kind: kind.unwrap_or_default(), in_key: key.is_some() };
            tables
                .entry(table)
                .or_insert_with(|| Table { columns: vec![], rows: BTreeMap::new() })
                .columns
                .push(column);
        }
        for (name, table) in &mut tables {
            let list = |columns: Vec<&str>| {
                let cells = columns.into_iter().map(|column| format!("{quoted}{column})"));
                format!("CAST({array}{}) AS TEXT)", joined(", ", cells))
            };
            let mut key: Vec<_> =
                table.columns.iter().filter(|column| column.in_key).map(|column| &*column.name).collect();
            if key.is_empty() {
                key.push("rowid");
            }
            let all = table.columns.iter().map(|column| &*column.name).collect();
            let sql = format!("SELECT {}, {} FROM {name}", list(key), list(all));
            for row in database.rows(&sql).await? {
                let cells = |cells: &Cell| serde_json::from_str(cells.as_deref().unwrap_or_default());
                table.rows.insert(cells(&row[0])?, cells(&row[1])?);
            }
        }
        Ok(Self(tables))
    }
}

/// Rows of a table that are written by one statement.
#[derive(Debug, Clone)]
struct Write {
    table: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    how: How,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum How {
    Insert,
    /// To the row that is there, if it is, these are added.
    Add,
    /// Of the only row, which is there, these columns are set.
    Update(Vec<usize>),
}

/// The writes of one commit.
#[derive(Debug, Clone)]
pub struct Commit(Vec<Write>);

impl Commit {
    /// None where nothing was written.
    pub fn between(before: &TableSnapshot, after: &TableSnapshot) -> Result<Option<Self>> {
        let mut writes = Vec::<Write>::new();
        for (name, table) in &after.0 {
            let former = &before.0.get(name).ok_or("a table has appeared")?.rows;
            if let Some(gone) = former.keys().find(|key| !table.rows.contains_key(*key)) {
                return Err(format!("a row of {name} has gone: {gone:?}").into());
            }
            for (key, row) in table.rows.iter().filter(|(key, row)| former.get(*key) != Some(*row)) {
                let (how, row) = How::from_columns(&table.columns, former.get(key), row)?;
                let columns = table.columns.clone();
                match writes.last_mut() {
                    Some(write) if write.table == *name && write.how == how && how.is_of_many() => {
                        write.rows.push(row);
                    }
                    _ => writes.push(Write { table: name.clone(), columns, rows: vec![row], how }),
                }
            }
        }
        Ok((!writes.is_empty()).then_some(Self(writes)))
    }

    /// The ids of the rows that are added: each charge has its own.
    pub fn ids(&self) -> BTreeSet<String> {
        let inserts = self.0.iter().filter(|write| write.how == How::Insert);
        let ids = inserts.filter_map(|write| {
            let at = write.columns.iter().position(|column| column.name == "id")?;
            Some(write.rows.iter().filter_map(move |row| row[at].clone()))
        });
        ids.flatten().collect()
    }

    /// A statement for each row, in which `cell` says how a value is written, and `from` where such values come from.
    pub fn statements(&self, from: Option<&str>, cell: impl Fn(&Column, &Cell) -> String) -> Vec<String> {
        self.0.iter().map(|write| write.statement(from, &cell)).collect()
    }
}

impl How {
    /// Returns whether one statement does it to several rows.
    fn is_of_many(&self) -> bool {
        match self {
            Self::Insert | Self::Add => true,
            Self::Update(_) => false,
        }
    }

    /// How a row is written that was another one, or none; and what of it.
    fn from_columns(
        columns: &[Column],
        former: Option<&Vec<Cell>>,
        row: &[Cell],
    ) -> Result<(Self, Vec<Cell>)> {
        let mut row = row.to_vec();
        if columns.iter().any(Column::is_slot) {
            let number = |cell: &Cell| cell.as_deref().unwrap_or("0").parse::<i64>();
            for at in (0..columns.len()).filter(|at| !columns[*at].in_key) {
                let was = former.map_or(Ok(0), |former| number(&former[at]))?;
                row[at] = Some((number(&row[at])? - was).to_string());
            }
            return Ok((Self::Add, row));
        }
        let Some(former) = former else { return Ok((Self::Insert, row)) };
        Ok((Self::Update((0..columns.len()).filter(|at| former[*at] != row[*at]).collect()), row))
    }
}

impl Write {
    fn statement(&self, from: Option<&str>, cell: impl Fn(&Column, &Cell) -> String) -> String {
        let Self { table, columns, rows, how } = self;
        let value = |row: &Vec<Cell>, at: usize| cell(&columns[at], &row[at]);
        let equals = |at: usize| format!("{} = {}", columns[at].name, value(&rows[0], at));
        let of_key = |in_key: bool| (0..columns.len()).filter(move |at| columns[*at].in_key == in_key);
        if let How::Update(changed) = how {
            let set = joined(", ", changed.iter().copied().map(equals));
            let from = from.map(|from| format!(" FROM {from}")).unwrap_or_default();
            return format!(
                "UPDATE {table} SET {set}{from} WHERE {}",
                joined(" AND ", of_key(true).map(equals))
            );
        }
        let all = joined(", ", columns.iter().map(|column| &*column.name));
        let values = |row| format!("({})", joined(", ", (0..columns.len()).map(|at| value(row, at))));
        let values = format!("VALUES {}", joined(", ", rows.iter().map(values)));
        let values = from.map_or_else(
            || values.clone(),
            |from| format!("SELECT written.* FROM {from} CROSS JOIN LATERAL ({values}) AS written"),
        );
        let mut sql = format!("INSERT INTO {table} ({all}) {values}");
        if *how == How::Add {
            let key = joined(", ", of_key(true).map(|at| &*columns[at].name));
            let sum = |at: usize| format!("{0} = {table}.{0} + excluded.{0}", columns[at].name);
            let _ =
                write!(sql, " ON CONFLICT ({key}) DO UPDATE SET {}", joined(", ", of_key(false).map(sum)));
        }
        sql
    }
}

fn joined(between: &str, parts: impl Iterator<Item = impl Into<String>>) -> String {
    parts.map(Into::into).collect::<Vec<String>>().join(between)
}
