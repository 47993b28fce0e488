//! Reads rows into records by position, for the rows that nearly every request reads: `DerivePartialModel` reads by name. By name,
//! a row of SQLite first becomes a map, and an absent value costs two formatted messages. With this and what came with it, a page
//! of 25 charges took the server 117 to 130 microseconds of CPU instead of 178 to 242, and one charge 36 to 44 instead of 52 to 64
//! (`docs/measuring.md`).

use sea_orm::sea_query::ValueType;
use sea_orm::{DbErr, FromQueryResult, ModelTrait, QueryResult, TryGetable};

/// A record read from the columns of a row.
pub trait FromColumns: Sized + Send + 'static {
    /// Reads the record. The statement selects its columns in the order in which this method reads them.
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr>;
}

/// Reads the columns of a row, one after the other.
pub trait ColumnReader {
    /// Reads the next column, which has this name.
    fn next<T: TryGetable + ValueType>(&mut self, name: &str) -> Result<T, DbErr>;

    /// Reads all columns, each found by its name.
    fn by_name<T: FromQueryResult>(&mut self) -> Result<T, DbErr>;
}

/// Reads whole rows of tables.
impl<M: ModelTrait + FromQueryResult + Send + 'static> FromColumns for M {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        row.by_name()
    }
}

/// Reads the fields of a struct from the columns of their names, in the order in which they are named here.
#[macro_export]
macro_rules! record {
    ($record:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::FromColumns for $record {
            fn read(row: &mut impl $crate::ColumnReader) -> Result<Self, ::sea_orm::DbErr> {
                Ok(Self { $($field: row.next(stringify!($field))?),+ })
            }
        }
    };
}

pub(crate) struct PostgresRow<'r> {
    row: &'r QueryResult,
    next: usize,
}

impl<'r> PostgresRow<'r> {
    pub fn new(row: &'r QueryResult) -> Self {
        Self { row, next: 0 }
    }
}

impl ColumnReader for PostgresRow<'_> {
    fn next<T: TryGetable + ValueType>(&mut self, name: &str) -> Result<T, DbErr> {
        let n = self.next;
        self.next += 1;
        debug_assert_eq!(self.row.column_names().get(n).map(String::as_str), Some(name));
        self.row.try_get_by(n)
    }

    fn by_name<T: FromQueryResult>(&mut self) -> Result<T, DbErr> {
        T::from_query_result(self.row, "")
    }
}
