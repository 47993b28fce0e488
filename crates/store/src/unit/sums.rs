//! Sums: rows that units add to, and that no unit reads before its commit. A sum is spread over slots, so that hardly any two
//! open transactions write to one row; its value is the sum of its slots.

use std::any::Any;
use std::collections::BTreeMap;

use sea_orm::{EntityName, EntityTrait, IdenStatic, Iterable, ModelTrait};

use crate::unit::write_buffer::Table;

/// A sum, of whose rows the primary key ends with the slot.
pub trait Sum: 'static {
    /// The row that holds one slot.
    type Row: ModelTrait;
    /// The primary key without the slot.
    type Key: Ord + Copy + Send + Sync;
    /// The column that holds the sum.
    const SUMMED: <Rows<Self> as EntityTrait>::Column;

    /// Builds the row of one slot.
    fn row(key: Self::Key, slot: i32, sum: i64) -> Self::Row;
}

type Rows<S> = <<S as Sum>::Row as ModelTrait>::Entity;

/// Returns the clause that adds an inserted row to the row with the same key.
fn conflict<S: Sum>() -> String {
    let keys = <Rows<S> as EntityTrait>::PrimaryKey::iter().map(|key| IdenStatic::as_str(&key));
    let (table, summed) = (name::<S>(), IdenStatic::as_str(&S::SUMMED));
    let keys = keys.collect::<Vec<_>>().join(", ");
    format!(" ON CONFLICT ({keys}) DO UPDATE SET {summed} = {table}.{summed} + excluded.{summed}")
}

fn name<S: Sum>() -> &'static str {
    EntityName::table_name(&Rows::<S>::default())
}

type Additions<S> = BTreeMap<<S as Sum>::Key, i64>;

struct SumsOf<S: Sum>(Additions<S>);

trait TypeErasedSums: Any + Send + Sync {
    fn empty(&self) -> Box<dyn TypeErasedSums>;
    fn absorb(&mut self, other: &dyn TypeErasedSums);
    fn table(&self, slot: i32) -> Table;
}

impl<S: Sum> TypeErasedSums for SumsOf<S> {
    fn empty(&self) -> Box<dyn TypeErasedSums> {
        Box::new(Self(BTreeMap::new()))
    }

    fn absorb(&mut self, other: &dyn TypeErasedSums) {
        let other: &dyn Any = other;
        for (&key, n) in other.downcast_ref::<Self>().into_iter().flat_map(|other| &other.0) {
            *self.0.entry(key).or_default() += n;
        }
    }

    fn table(&self, slot: i32) -> Table {
        let mut table = Table { conflict: conflict::<S>(), ..Table::for_model::<S::Row>() };
        for (&key, &n) in &self.0 {
            table.push(&S::row(key, slot, n));
        }
        table
    }
}

/// Additions to sums, by table: transactions lock their rows in one order.
#[derive(Default)]
pub(crate) struct Sums(BTreeMap<&'static str, Box<dyn TypeErasedSums>>);

impl Sums {
    pub fn add<S: Sum>(&mut self, key: S::Key, n: i64) {
        let sums = self.0.entry(name::<S>()).or_insert_with(|| Box::new(SumsOf::<S>(BTreeMap::new())));
        let sums: &mut dyn Any = &mut **sums;
        if let Some(SumsOf(sums)) = sums.downcast_mut::<SumsOf<S>>() {
            *sums.entry(key).or_default() += n;
        }
    }

    /// Returns what is added to all sums whose key is `counted`.
    pub fn added<S: Sum>(&self, counted: impl Fn(&S::Key) -> bool) -> i64 {
        let sums = self.0.get(name::<S>()).map(|sums| &**sums as &dyn Any);
        let sums = sums.and_then(|sums| sums.downcast_ref::<SumsOf<S>>());
        let sums = sums.into_iter().flat_map(|sums| &sums.0);
        sums.filter(|(key, _)| counted(key)).map(|(_, n)| n).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn absorb(&mut self, other: &Self) {
        for (name, sums) in &other.0 {
            self.0.entry(name).or_insert_with(|| sums.empty()).absorb(&**sums);
        }
    }

    /// Returns the names of the tables.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// Returns the rows, by table, that add everything in `slot`.
    pub fn tables(&self, slot: i32) -> impl Iterator<Item = Table> {
        self.0.values().map(move |sums| sums.table(slot))
    }
}
