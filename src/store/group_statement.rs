//! PostgreSQL: one statement for the writes of several units.
//!
//! Each table's rows, and the values of each kind of update, are arrays, a value of each row in each: so the text depends on what
//! is written and not on how many units write it, and stays prepared. The statement fails as a whole if any unit's
//! compare-and-set has changed no row, or another unit's row instead of its own.

use std::collections::BTreeMap;
use std::fmt::Write;

use sea_orm::Value;
use sea_orm::sqlx::Arguments;
use sea_orm::sqlx::error::BoxDynError;
use sea_orm::sqlx::postgres::PgArguments;

use super::deferred_updates::{Change, DeferredUpdate, DeferredUpdates};
use super::write_buffer::{Table, WriteBuffer};

/// All that a unit writes with its commit.
pub(super) struct Writes {
    pub held: DeferredUpdates,
    pub rows: WriteBuffer,
}

/// A statement that is being written.
#[derive(Default)]
struct Grouped {
    sql: String,
    arguments: PgArguments,
    /// What the statement selects in the end.
    end: Vec<String>,
}

/// Returns the statement that writes everything of `units`, with sums in `slot`. Its row says in `derived` how many rows were
/// derived.
pub(super) fn group_statement(units: &[&Writes], slot: i32) -> Result<(String, PgArguments), BoxDynError> {
    let mut grouped = Grouped::default();
    grouped.updates(units)?;
    let mut rows = WriteBuffer::default();
    for unit in units {
        rows.sums.absorb(&unit.rows.sums);
    }
    let sums: Vec<_> = rows.sums.tables(slot).collect();
    grouped.tables(units.iter().flat_map(|unit| unit.rows.tables()).chain(&sums))?;
    grouped.derived(units, slot)?;
    let Grouped { mut sql, arguments, end } = grouped;
    let _ = write!(sql, " SELECT {}", end.join(", "));
    Ok((sql, arguments))
}

impl Grouped {
    /// Begins a CTE.
    fn named(&mut self, name: &str) {
        // Writing to a String cannot fail.
        let _ = write!(self.sql, "{} {name} AS (", if self.sql.is_empty() { "WITH" } else { "," });
    }

    fn updates(&mut self, units: &[&Writes]) -> Result<(), BoxDynError> {
        let mut kinds: BTreeMap<(&[String], Change), Vec<&DeferredUpdate>> = BTreeMap::new();
        for update in units.iter().flat_map(|unit| &unit.held.0) {
            kinds.entry((&update.texts, update.change)).or_default().push(update);
        }
        for (n, updates) in kinds.values().enumerate() {
            let [update, ..] = &**updates else { continue };
            let mut rows: Vec<&[Value]> = updates.iter().map(|update| &*update.values).collect();
            if update.change == Change::Requires {
                // Units of one account require the same.
                let is_first = |(n, row): &(usize, &&[Value])| !rows[..*n].contains(row);
                rows = rows.iter().enumerate().filter(is_first).map(|(_, row)| *row).collect();
            }
            let columns: Vec<_> = (0..update.values.len()).map(|at| format!("c{at}")).collect();
            let values = self.arrays(&rows)?;
            let values = format!("{values} WITH ORDINALITY AS u ({}, member)", columns.join(", "));
            let text = update.text(|at| format!("u.c{at}"));
            let condition = outermost_where(&text).ok_or("an update of every row")?;
            let (change, condition) = text.split_at(condition);
            let (from, returning) = match update.change {
                Change::Requires => (",", ""),
                _ if change.starts_with("DELETE") => (" USING", " RETURNING u.member"),
                Change::Decides | Change::Follows => (" FROM", " RETURNING u.member"),
            };
            self.named(&format!("g{n}"));
            let _ = write!(self.sql, "{change}{from} {values}{condition}{returning})");
            let won = match update.change {
                Change::Requires => "COUNT(*)",
                Change::Decides => "COUNT(DISTINCT member)",
                Change::Follows => continue,
            };
            self.arguments.add(i64::try_from(rows.len())?)?;
            let won = format!("(SELECT {won} FROM g{n}) = ${}", self.arguments.len());
            self.end.push(format!("1 / ({won})::int"));
        }
        Ok(())
    }

    fn tables<'t>(&mut self, tables: impl Iterator<Item = &'t Table>) -> Result<(), BoxDynError> {
        let mut all: BTreeMap<&str, (&Table, Vec<&[Value]>)> = BTreeMap::new();
        for table in tables {
            all.entry(table.name)
                .or_insert((table, Vec::new()))
                .1
                .extend(table.rows.iter().map(|row| &**row));
        }
        for (n, (table, rows)) in all.values().enumerate() {
            let (columns, values) = (table.columns.join(", "), self.arrays(rows)?);
            self.named(&format!("w{n}"));
            let Table { name, conflict, .. } = table;
            let _ = write!(self.sql, "INSERT INTO {name} ({columns}) SELECT * FROM {values}{conflict})");
        }
        Ok(())
    }

    fn derived(&mut self, units: &[&Writes], slot: i32) -> Result<(), BoxDynError> {
        let Some(derivation) = units.iter().find_map(|unit| unit.rows.derived.derivation) else {
            return Ok(());
        };
        let rows = units.iter().flat_map(|unit| &unit.rows.derived.values).map(|row| &**row);
        let values = self.arrays(&rows.collect::<Vec<_>>())?;
        self.named("derived");
        let (columns, insert, locked) = (derivation.columns.join(", "), derivation.insert, derivation.locked);
        let _ = write!(self.sql, "WITH v ({columns}) AS (SELECT * FROM {values}) {insert}{locked})");
        self.arguments.add(slot)?;
        self.named("counted");
        let _ = write!(self.sql, "{})", derivation.count_derived(self.arguments.len()));
        self.end.push("(SELECT COUNT(*) FROM derived) AS derived".to_owned());
        Ok(())
    }

    /// Adds an array a column, and returns the table of them.
    fn arrays(&mut self, rows: &[&[Value]]) -> Result<String, BoxDynError> {
        let first = self.arguments.len() + 1;
        let columns = rows.first().map_or(0, |row| row.len());
        for column in 0..columns {
            self.array(rows.iter().map(|row| &row[column]))?;
        }
        let placeholders: Vec<_> = (first..first + columns).map(|n| format!("${n}")).collect();
        Ok(format!("unnest({})", placeholders.join(", ")))
    }

    fn array<'v>(&mut self, values: impl Iterator<Item = &'v Value> + Clone) -> Result<(), BoxDynError> {
        /// Adds the values of one kind.
        macro_rules! add {
            ($kind:ident, $value:ident => $borrowed:expr) => {
                self.arguments.add(
                    values
                        .map(|value| match value {
                            Value::$kind($value) => Ok($borrowed),
                            _ => Err("a column has values of two kinds"),
                        })
                        .collect::<Result<Vec<_>, _>>()?,
                )
            };
        }
        match values.clone().next() {
            Some(Value::Bool(_)) => add!(Bool, value => *value),
            Some(Value::SmallInt(_)) => add!(SmallInt, value => *value),
            Some(Value::Int(_)) => add!(Int, value => *value),
            Some(Value::BigInt(_)) => add!(BigInt, value => *value),
            Some(Value::String(_)) => add!(String, value => value.as_deref()),
            Some(Value::Bytes(_)) => add!(Bytes, value => value.as_deref()),
            Some(Value::Uuid(_)) => add!(Uuid, value => *value),
            _ => Err("a column has values of which no array is made".into()),
        }
    }
}

/// Returns the position of the WHERE that stands in no parentheses.
fn outermost_where(sql: &str) -> Option<usize> {
    let mut depth = 0;
    let mut positions = sql.char_indices().filter_map(|(at, letter)| {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        (depth == 0 && sql[at..].starts_with(" WHERE ")).then_some(at)
    });
    positions.next()
}
