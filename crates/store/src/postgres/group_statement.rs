//! PostgreSQL: one statement for the writes of several units.
//!
//! Each table's rows, and the values of each kind of update, are arrays, a value of each row in each: so the text depends on what
//! is written and not on how many units write it. It stays prepared, and is made once. The statement fails as a whole if any
//! unit's compare-and-set has changed no row, or another unit's row instead of its own.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use base::mutex::lock;
use sea_orm::Value;
use sea_orm::sqlx::Arguments;
use sea_orm::sqlx::error::BoxDynError;
use sea_orm::sqlx::postgres::PgArguments;
use uuid::Uuid;

use crate::unit::deferred_updates::{Change, DeferredUpdate, DeferredUpdates};
use crate::unit::derived::Derivation;
use crate::unit::sums::Sums;
use crate::unit::write_buffer::{Table, WriteBuffer};

/// All that a unit writes with its commit.
pub(crate) struct Writes {
    pub deferred: DeferredUpdates,
    pub rows: WriteBuffer,
    /// A distributed database: where the rows lie, if the unit may share a statement.
    pub shard: Option<AccountShard>,
}

/// The shard of an account, and the node that has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AccountShard {
    pub account: Uuid,
    pub id: i64,
    pub node: i32,
}

impl Writes {
    /// Returns a number for the text of the statement that writes these.
    pub fn kind(&self) -> u64 {
        let Self { deferred, rows, .. } = self;
        let mut hasher = DefaultHasher::new();
        deferred.0.iter().for_each(|update| update.texts.hash(&mut hasher));
        rows.tables().iter().for_each(|table| table.name.hash(&mut hasher));
        rows.sums.names().for_each(|name| name.hash(&mut hasher));
        rows.derived.derivation.is_some().hash(&mut hasher);
        hasher.finish()
    }
}

/// The texts of the statements sent so far, by a number for what they write: few, because few kinds of units share a group.
#[derive(Default)]
pub(crate) struct GroupTexts(Mutex<HashMap<u64, Arc<str>>>);

impl GroupTexts {
    /// Returns the statement that writes everything of `units`, with sums in `slot`. Its row says in `derived` how many rows
    /// were derived.
    pub fn statement<P: Parameters>(
        &self,
        units: &[&Writes],
        slot: i32,
    ) -> Result<(Arc<str>, P), BoxDynError> {
        let mut sums = Sums::default();
        for unit in units {
            sums.absorb(&unit.rows.sums);
        }
        let sums: Vec<_> = sums.tables(slot).collect();
        let group = Group::new(units, &sums, slot);
        let mut parameters = P::default();
        group.add_to(&mut parameters)?;
        let make_text = || parameters.name_in(group.text()?);
        let kind = group.kind();
        let known = lock(&self.0).get(&kind).cloned();
        let text = if let Some(text) = known {
            text
        } else {
            let text: Arc<str> = make_text()?.into();
            Arc::clone(lock(&self.0).entry(kind).or_insert(text))
        };
        // In tests, another group than the one that the text was made for panics.
        debug_assert_eq!(make_text()?, *text);
        Ok((text, parameters))
    }
}

/// The parameters of a statement, in their order.
pub(crate) trait Parameters: Default {
    /// Returns a text of which `$1`, `$2` and so on are the parameters.
    fn name_in(&self, text: String) -> Result<String, BoxDynError>;

    fn number(&mut self, number: &Value) -> Result<(), BoxDynError>;

    /// Adds an array of values of one kind.
    fn array<'v>(&mut self, values: impl Iterator<Item = &'v Value> + Clone) -> Result<(), BoxDynError>;

    /// Adds an array a column of `rows`.
    fn arrays(&mut self, rows: &[&[Value]]) -> Result<(), BoxDynError> {
        (0..width(rows)).try_for_each(|column| self.array(rows.iter().map(|row| &row[column])))
    }
}

type Rows<'u> = Vec<&'u [Value]>;

/// The writes of several units, by table and kind of update.
struct Group<'u> {
    updates: BTreeMap<(&'u [String], Change), (&'u DeferredUpdate, Rows<'u>)>,
    tables: BTreeMap<&'u str, (&'u Table, Rows<'u>)>,
    derived: Option<(&'static Derivation, Rows<'u>)>,
    slot: i32,
}

impl<'u> Group<'u> {
    fn new(units: &'u [&Writes], sums: &'u [Table], slot: i32) -> Self {
        let mut updates = BTreeMap::new();
        for update in units.iter().flat_map(|unit| &unit.deferred.0) {
            let kind = (&*update.texts, update.change);
            let (_, rows): &mut (_, Rows<'u>) = updates.entry(kind).or_insert((update, Vec::new()));
            // Units of one account require the same.
            if update.change != Change::Requires || !rows.contains(&&*update.values) {
                rows.push(&update.values);
            }
        }
        let mut tables = BTreeMap::new();
        for table in units.iter().flat_map(|unit| unit.rows.tables()).chain(sums) {
            let (_, rows): &mut (_, Rows<'u>) = tables.entry(table.name).or_insert((table, Vec::new()));
            rows.extend(table.rows.iter().map(|row| &**row));
        }
        let derived = units.iter().find_map(|unit| unit.rows.derived.derivation).map(|derivation| {
            let rows = units.iter().flat_map(|unit| &unit.rows.derived.values).map(|row| &**row);
            (derivation, rows.collect())
        });
        Self { updates, tables, derived, slot }
    }

    /// Returns a number for the text.
    fn kind(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.updates.keys().for_each(|kind| kind.hash(&mut hasher));
        self.tables.keys().for_each(|name| name.hash(&mut hasher));
        self.derived.is_some().hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the text, whose placeholders follow the order of [`Self::add_to`].
    fn text(&self) -> Result<String, BoxDynError> {
        let mut text = Text::default();
        for (n, (update, _)) in self.updates.values().enumerate() {
            text.update(n, update)?;
        }
        for (n, (table, rows)) in self.tables.values().enumerate() {
            let Table { name, columns, conflict, .. } = table;
            let (columns, values) = (columns.join(", "), text.arrays(width(rows)));
            text.begin(&format!("w{n}"));
            let _ = write!(text.sql, "INSERT INTO {name} ({columns}) SELECT * FROM {values}{conflict})");
        }
        let derived = if let Some((derivation, rows)) = &self.derived {
            let (columns, insert, locked) =
                (derivation.columns.join(", "), derivation.insert, derivation.locked);
            let values = text.arrays(width(rows));
            text.begin("derived");
            let _ = write!(text.sql, "WITH v ({columns}) AS (SELECT * FROM {values}) {insert}{locked})");
            let slot = text.argument();
            text.begin("counted");
            let _ = write!(text.sql, "{})", derivation.count_derived(slot));
            "(SELECT COUNT(*) FROM derived)"
        } else {
            "0::bigint"
        };
        text.end.insert(0, format!("{derived} AS derived"));
        let _ = write!(text.sql, " SELECT {}", text.end.join(", "));
        Ok(text.sql)
    }

    fn add_to(&self, parameters: &mut impl Parameters) -> Result<(), BoxDynError> {
        for (update, rows) in self.updates.values() {
            parameters.arrays(rows)?;
            if update.change != Change::Follows {
                parameters.number(&i64::try_from(rows.len())?.into())?;
            }
        }
        for (_, rows) in self.tables.values() {
            parameters.arrays(rows)?;
        }
        if let Some((_, rows)) = &self.derived {
            parameters.arrays(rows)?;
            parameters.number(&self.slot.into())?;
        }
        Ok(())
    }
}

fn width(rows: &[&[Value]]) -> usize {
    rows.first().map_or(0, |row| row.len())
}

/// A text that is being written.
#[derive(Default)]
struct Text {
    sql: String,
    arguments: usize,
    /// The expressions that the statement selects in the end.
    end: Vec<String>,
}

impl Text {
    fn begin(&mut self, name: &str) {
        // Writing to a String cannot fail.
        let _ = write!(self.sql, "{} {name} AS (", if self.sql.is_empty() { "WITH" } else { "," });
    }

    /// Returns the number of one more argument.
    fn argument(&mut self) -> usize {
        self.arguments += 1;
        self.arguments
    }

    /// Returns a table of an array a column.
    fn arrays(&mut self, columns: usize) -> String {
        let placeholders: Vec<_> = (0..columns).map(|_| format!("${}", self.argument())).collect();
        format!("unnest({})", placeholders.join(", "))
    }

    fn update(&mut self, n: usize, update: &DeferredUpdate) -> Result<(), BoxDynError> {
        let columns: Vec<_> = (0..update.values.len()).map(|at| format!("c{at}")).collect();
        let values = self.arrays(columns.len());
        let values = format!("{values} WITH ORDINALITY AS u ({}, member)", columns.join(", "));
        let text = update.text(|at| format!("u.c{at}"));
        let condition = outermost_where(&text).ok_or("an update of every row")?;
        let (change, condition) = text.split_at(condition);
        let (from, returning) = match update.change {
            Change::Requires => (",", ""),
            _ if change.starts_with("DELETE") => (" USING", " RETURNING u.member"),
            Change::Decides | Change::Follows => (" FROM", " RETURNING u.member"),
        };
        self.begin(&format!("g{n}"));
        let _ = write!(self.sql, "{change}{from} {values}{condition}{returning})");
        let won = match update.change {
            Change::Requires => "COUNT(*)",
            Change::Decides => "COUNT(DISTINCT member)",
            Change::Follows => return Ok(()),
        };
        let won = format!("(SELECT {won} FROM g{n}) = ${}", self.argument());
        self.end.push(format!("1 / ({won})::int"));
        Ok(())
    }
}

impl Parameters for PgArguments {
    fn name_in(&self, text: String) -> Result<String, BoxDynError> {
        Ok(text)
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "sea-orm knows many types; no column of ours is of others"
    )]
    fn number(&mut self, number: &Value) -> Result<(), BoxDynError> {
        match number {
            Value::Int(number) => self.add(*number),
            Value::BigInt(number) => self.add(*number),
            _ => Err("no number".into()),
        }
    }

    fn array<'v>(&mut self, values: impl Iterator<Item = &'v Value> + Clone) -> Result<(), BoxDynError> {
        /// Adds the values of one kind.
        macro_rules! add {
            ($kind:ident, $value:ident => $borrowed:expr) => {
                self.add(
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
