//! Rows that a commit derives from rows of the database. Units give the values; the commit inserts what a query makes of
//! them, so that no unit reads those rows before.

use futures::future::BoxFuture;
use sea_orm::{DbBackend, DbErr, Value};

use crate::unit::rows::with_values;
use crate::unit::tx::Tx;

/// The statements that derive rows from a table `v` of values, whose first column is the account, and count them.
pub struct Derivation {
    /// The columns of `v`.
    pub columns: &'static [&'static str],
    /// Inserts: `INSERT ... SELECT ... FROM v JOIN ...`.
    pub insert: &'static str,
    /// PostgreSQL: locks the rows read, and returns what `count_derived` needs.
    pub locked: &'static str,
    /// PostgreSQL: counts the rows returned, which are the table `derived`, in `$slot`.
    pub count_derived: &'static str,
    /// SQLite: counts the rows derived from a table `v` of accounts.
    pub count: &'static str,
    /// A distributed PostgreSQL, where one statement cannot derive rows: reads, appends, and returns whether there are any.
    pub look_up: LookUp,
}

/// Reads what rows are derived from, by their values.
type LookUp = for<'t> fn(&'t Tx, Vec<Vec<Value>>) -> BoxFuture<'t, Result<bool, DbErr>>;

/// Values to derive rows from.
#[derive(Default)]
pub(crate) struct DerivedRows {
    pub derivation: Option<&'static Derivation>,
    pub values: Vec<Vec<Value>>,
}

impl DerivedRows {
    pub fn add(&mut self, how: &'static Derivation, values: Vec<Value>) {
        self.absorb(Self { derivation: Some(how), values: vec![values] });
    }

    pub fn absorb(&mut self, other: Self) {
        debug_assert!(self.derivation.is_none() || other.derivation.is_none_or(|it| self.is_of(it)));
        self.derivation = self.derivation.or(other.derivation);
        self.values.extend(other.values);
    }

    fn is_of(&self, derivation: &'static Derivation) -> bool {
        self.derivation.is_some_and(|own| std::ptr::eq(own, derivation))
    }
}

impl Derivation {
    /// Writes the statement that inserts what is derived from `rows`.
    pub(crate) fn insert(
        &self,
        sql: &mut String,
        values: &mut Vec<Value>,
        rows: Vec<Vec<Value>>,
        backend: DbBackend,
    ) {
        with_values(sql, values, backend, self.columns, rows, self.insert);
        if backend == DbBackend::Postgres {
            sql.push_str(self.locked);
        }
    }

    /// PostgreSQL: returns the statement that counts the rows of the CTE `derived` in the slot that is parameter `n`.
    pub(crate) fn count_derived(&self, n: usize) -> String {
        self.count_derived.replace("$slot", &format!("${n}"))
    }

    /// SQLite: writes the statement that counts what [`Self::insert`] inserts. There is one writer, so both statements find the
    /// same rows.
    pub(crate) fn count(&self, sql: &mut String, values: &mut Vec<Value>, rows: &[Vec<Value>]) {
        let owners = rows.iter().map(|row| vec![row[0].clone()]).collect();
        with_values(sql, values, DbBackend::Sqlite, &self.columns[..1], owners, self.count);
    }
}
