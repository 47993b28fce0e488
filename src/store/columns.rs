//! Rows as what they are read for, column by column in their order. sea-orm asks for each by its name, so a row of SQLite's
//! first becomes a map of names: for what nearly every request reads, that takes longer than SQLite itself.

use sea_orm::sea_query::ValueType;
use sea_orm::{DbErr, FromQueryResult, ModelTrait, QueryResult, TryGetable};

/// What is read of a row.
pub trait FromColumns: Sized + Send + 'static {
    /// Read it. The statement tells its columns in the order in which they are read.
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr>;
}

/// The columns of a row, one after the other.
pub trait ColumnReader {
    /// The next one, which has this name.
    fn next<T: TryGetable + ValueType>(&mut self, name: &str) -> Result<T, DbErr>;

    /// All of them, each found by its name.
    fn by_name<T: FromQueryResult>(&mut self) -> Result<T, DbErr>;
}

/// Whole rows of tables.
impl<M: ModelTrait + FromQueryResult + Send + 'static> FromColumns for M {
    fn read(row: &mut impl ColumnReader) -> Result<Self, DbErr> {
        row.by_name()
    }
}

/// Reads the fields of a struct from the columns of their names, in the order in which they are named here.
macro_rules! record {
    ($record:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::store::FromColumns for $record {
            fn read(row: &mut impl $crate::store::ColumnReader) -> Result<Self, ::sea_orm::DbErr> {
                Ok(Self { $($field: row.next(stringify!($field))?),+ })
            }
        }
    };
}
pub(crate) use record;

/// A row of PostgreSQL's.
pub(super) struct PostgresRow<'r> {
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
